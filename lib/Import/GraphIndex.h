//===- GraphIndex.h - Who makes and who reads each value --------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_GRAPHINDEX_H
#define RONDO_LIB_IMPORT_GRAPHINDEX_H

#include "ModelFile.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace rondo {

/// Producers and consumers of the graph's values, for the nodes on which the
/// loss depends.
class GraphIndex {
public:
  struct Use {
    int node;
    int operand;
  };

  explicit GraphIndex(const ModelFile &file) : file(file) {}

  /// Chooses the loss (`lossName`, or the only scalar float output) and checks
  /// that every live node's operands are made before it; reports all errors.
  mlir::LogicalResult build(llvm::StringRef lossName);

  llvm::StringRef getLossName() const { return lossName; }
  bool isLive(int node) const { return live[node]; }
  /// Index of the node that makes `value`, or -1.
  int getProducer(llvm::StringRef value) const;
  /// Live consumers in graph order.
  llvm::ArrayRef<Use> getUses(llvm::StringRef value) const;
  /// The node's location: its name (or first output), type and domain.
  mlir::Location getNodeLoc(int node) const;

private:
  mlir::LogicalResult indexNodes();
  mlir::LogicalResult chooseLoss(llvm::StringRef name);
  mlir::LogicalResult markLive();

  const ModelFile &file;
  std::string lossName;
  llvm::StringMap<int> producers;
  llvm::StringMap<llvm::SmallVector<Use, 2>> uses;
  std::vector<bool> live;
};

} // namespace rondo

#endif // RONDO_LIB_IMPORT_GRAPHINDEX_H
