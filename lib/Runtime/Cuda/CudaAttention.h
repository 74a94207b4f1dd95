//===- CudaAttention.h - Attention through cuDNN ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward is one graph. The gradient goes block by block (program.fbs), as
// cuDNN's deterministic algorithm needs workspace for every score; where a head
// has several blocks of rows, their parts of dK and dV are added in f32 in the
// blocks' order, so that a step has the same bits every time.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_CUDA_CUDAATTENTION_H
#define RONDO_LIB_RUNTIME_CUDA_CUDAATTENTION_H

#include "CudnnGraph.h"

namespace rondo::runtime::cuda {

/// Attention of one device's program. Its calls need the device's context to be
/// current.
class CudaAttentions {
public:
  CudaAttentions(const Driver &driver, const CudaPool::Member &gpu)
      : driver(driver), gpu(gpu) {}
  ~CudaAttentions();
  CudaAttentions(const CudaAttentions &) = delete;
  CudaAttentions &operator=(const CudaAttentions &) = delete;

  /// Adds a call; `plan`: its number. Errors (Code::Device): there is no cuDNN,
  /// it cannot do this, or wants more workspace than is planned; the caller
  /// says of which node.
  Status add(const AttentionShape &shape, uint32_t &plan);
  /// After the last add.
  Status finish();
  /// `addresses`: the call's. `addPart`, `roundRows`: of CudaKernels.h.
  Status run(uint32_t plan, const Address *addresses, Stream stream,
             Function addPart, Function roundRows) const;

  /// Beside the program's: lengths that cuDNN reads from memory.
  uint64_t workspaceBytes() const { return lengthBytes; }

private:
  /// Some rows of the heads of a block, and the keys that they see.
  struct Rows {
    int64_t row, rows, key, keys;
    uint32_t graph;
    uint64_t lengths = 0; ///< In lengthMemory, of rows; keys follow.
  };
  struct Plan {
    AttentionShape shape;
    AttentionWorkspace workspace;
    std::vector<Rows> rows; ///< One for a forward.
  };
  Status findGraph(const CudnnProblem &problem, uint64_t limit,
                   uint32_t &graph);
  Status addRows(Plan &plan, const AttentionBlock &block, int64_t row);
  Status runBlock(const Plan &plan, const Address *addresses, int64_t batch,
                  int64_t head, Stream stream, Function addPart,
                  Function roundRows) const;
  Status runRows(const Plan &plan, const Rows &rows,
                 const CudnnTensors &tensors, Address workspace,
                 Stream stream) const;
  Status launchAdd(const Plan &plan, const Rows &rows, Address workspace,
                   Stream stream, Function addPart) const;
  Status launchRound(const Plan &plan, uint32_t matrix, Address sum,
                     Address target, Stream stream, Function roundRows) const;

  const Driver &driver;
  const CudaPool::Member &gpu;
  std::unique_ptr<Cudnn> cudnn;
  std::vector<std::pair<CudnnProblem, std::unique_ptr<CudnnGraph>>> graphs;
  std::vector<Plan> plans;
  std::vector<int32_t> lengths; ///< For lengthMemory.
  Address lengthMemory = 0;
  uint64_t lengthBytes = 0;
};

} // namespace rondo::runtime::cuda

#endif // RONDO_LIB_RUNTIME_CUDA_CUDAATTENTION_H
