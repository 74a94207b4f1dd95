//===- Parameters.h - What is a parameter, what trains, names ---*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_PARAMETERS_H
#define RONDO_LIB_IMPORT_PARAMETERS_H

#include "GraphIndex.h"
#include "ModelFile.h"
#include "ModuleScope.h"
#include "rondo/Import/Import.h"
#include "llvm/ADT/SmallVector.h"
#include <string>
#include <vector>

namespace rondo {

/// What an initializer is to the nodes that use it.
enum class ParameterRole {
  None,        ///< a constant or table
  Weight,      ///< of a contraction or convolution
  Bias,        ///< of one
  NormScale,   ///< of a normalisation
  NormBias,    ///< of one
  Embedding,   ///< rows are looked up
  Elementwise, ///< dotted name, added to or multiplied with activations
};

/// One initializer's part in training.
struct ParameterInfo {
  ParameterRole role = ParameterRole::None;
  bool isLive = false;
  /// Becomes an `nn.parameter` (trainable or frozen), never a constant.
  bool isParameter = false;
  bool isTrainable = false;
  /// By `--freeze`.
  bool isFrozen = false;
  /// The name in the source model; empty: as in the file.
  std::string source;
  /// The source's tensor is the transpose of the file's.
  bool isSourceTransposed = false;
  /// The initializer that stands for this one (itself if none does), and
  /// whether this one holds its transpose.
  int representative = -1;
  bool isCopyTransposed = false;
  /// Those for which this one stands.
  llvm::SmallVector<int, 1> copies;
};

/// Decides, for every initializer, whether it is a parameter, whether it
/// trains, and under which names it is known.
class Parameters {
public:
  Parameters(ModelFile &file, const GraphIndex &index);

  /// Fails after an error: a regular expression that is none or that matches
  /// nothing.
  mlir::LogicalResult analyze(const ImportOptions &options);
  const ParameterInfo &get(int initializer) const { return infos[initializer]; }
  /// Remarks: counts, what stayed frozen, merged initializers, shared norms.
  void report() const;

private:
  /// A consumer of an initializer, seen through reshapes, transposes, casts.
  struct Consumer {
    int node;
    int operand;
    bool isTransposed = false;
    /// Behind a lookup with indices known at compile time.
    bool isGathered = false;
  };

  void markActivations();
  bool isActivation(const onnx::NodeProto &node, int operand) const;
  llvm::SmallVector<Consumer> findConsumers(int initializer) const;
  ParameterRole getRole(int initializer, const Consumer &consumer) const;
  void assignRoles();
  void nameSource(int initializer);
  void nameFromSignature();
  void dropAmbiguousSources();
  void mergeEqual();
  void merge(int representative, int copy, bool transposed);
  mlir::LogicalResult chooseTrainable(const ImportOptions &options);
  void reportSharedNorms() const;
  const onnx::NodeProto &getNode(int node) const {
    return file.getGraph().node(node);
  }

  ModelFile &file;
  const GraphIndex &index;
  ProgramSignature signature;
  std::vector<ParameterInfo> infos;
  /// The consumer that gave the role.
  std::vector<Consumer> roleConsumers;
  /// Float values that carry activations; values that depend on inputs.
  llvm::StringSet<> activations;
  llvm::StringSet<> dependent;
};

/// Whether two initializers of equal element type hold equal elements, as
/// they are or (rank 2) transposed, decided by their bytes.
class EqualContents {
public:
  explicit EqualContents(ModelFile &file) : file(file) {}

  struct Match {
    int earlier;
    bool isTransposed;
  };
  /// Looks `initializer` up among those added before, and adds it. Tensors of
  /// one repeated value and absent ones match nothing.
  std::optional<Match> add(int initializer);

private:
  bool areEqual(int left, int right, bool transposed);

  ModelFile &file;
  /// By fingerprint: a few elements in a fixed order, with type and shape.
  llvm::StringMap<llvm::SmallVector<int, 1>> byFingerprint;
};

} // namespace rondo

#endif // RONDO_LIB_IMPORT_PARAMETERS_H
