//===- CudnnGraph.h - One attention problem in cuDNN ------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libcudnn.so.9, opened by name when a program needs it. Graphs of attention
// are built through cudnn-frontend's headers, which no other file sees;
// CudnnMissing.cpp stands in where Rondo was built without them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDNNGRAPH_H
#define RONDO_LIB_RUNTIME_CUDA_CUDNNGRAPH_H

#include "../Host/Attention.h"
#include "CudaPool.h"
#include <memory>

namespace rondo::runtime::cuda {

/// What one graph computes: attention, or its deterministic gradient.
struct CudnnProblem {
  AttentionSizes sizes;
  std::array<AttentionShape::Strides, 8> strides{};
  bool isGradient = false;
  float scale = 1;
  bool causal = false;
  int64_t window = 0;
  program::ElementType type{};
  bool operator==(const CudnnProblem &) const;
};

/// A graph's tensors, in the order of a call's addresses (program.fbs) without
/// its workspace.
using CudnnTensors = std::array<Address, 9>;

class CudnnGraph {
public:
  virtual ~CudnnGraph() = default;
  virtual uint64_t workspaceBytes() const = 0;
  /// Whether it reads the numbers of its rows and keys from the device, as
  /// cuDNN needs for some lengths.
  virtual bool needsLengths() const = 0;
  /// `rows`, `keys`: int32 [batch] each, the problem's; 0 unless needed.
  virtual Status run(const CudnnTensors &tensors, Address rows, Address keys,
                     Address workspace, Stream stream) = 0;
};

/// The library for one GPU. Its calls need the GPU's context to be current.
class Cudnn {
public:
  virtual ~Cudnn() = default;
  /// Errors (Code::Device): Rondo was built without it, it is missing, or it
  /// does not start.
  static Status create(const CudaPool::Member &gpu,
                       std::unique_ptr<Cudnn> &cudnn);
  /// For people: "cuDNN 9.14.0", or why there is none.
  static std::string describe();
  virtual std::string version() const = 0;
  /// Error (Code::Device): cuDNN's reason for not doing it.
  virtual Status build(const CudnnProblem &problem,
                       std::unique_ptr<CudnnGraph> &graph) = 0;
};

/// What every error about it ends in.
constexpr char kWithoutCudnn[] =
    "compile the model with --attention=decomposed to do without";

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDNNGRAPH_H
