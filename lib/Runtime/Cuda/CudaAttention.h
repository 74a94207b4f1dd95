//===- CudaAttention.h - Attention through cuDNN ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The forward is one graph. The gradient goes block by block (program.fbs), as
// cuDNN's deterministic algorithm needs workspace for every score; parts of one
// dQ, dK or dV are added in f32 in the blocks' order, so that a step has the
// same bits every time.
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

  /// What `run` puts on a stream, at most about.
  uint64_t commands(uint32_t plan) const;

  /// Beside the program's: lengths that cuDNN reads from memory.
  uint64_t workspaceBytes() const { return lengthBytes; }
  /// The library, in a line; empty: there are no calls.
  std::string arithmetic() const {
    return cudnn ? cudnn->version() + "\n" : "";
  }

private:
  /// Some rows of a block's heads, and keys that they see.
  struct Piece {
    int64_t row = 0, rows = 0, key = 0, keys = 0;
    uint32_t graph = 0;
    uint64_t lengths = 0; ///< In lengthMemory, of rows; keys follow.
  };
  struct Plan {
    AttentionShape shape;
    AttentionWorkspace workspace;
    std::vector<Piece> pieces; ///< Of a block's heads: by rows, then by keys.
  };
  /// The device's own kernels.
  struct Kernels {
    Function addPart, roundRows;
  };

  Status findGraph(const CudnnProblem &problem, uint64_t limit,
                   uint32_t &graph);
  Status addPiece(Plan &plan, Piece piece, bool isCausal);
  Status addRows(Plan &plan, int64_t row);
  Status runBlock(const Plan &plan, const Address *addresses, int64_t batch,
                  int64_t head, Stream stream, const Kernels &kernels) const;
  Status packStatistics(const Plan &plan, const Piece &piece, Address from,
                        Address to, Stream stream) const;
  Status runPiece(const Plan &plan, const Piece &piece,
                  const CudnnTensors &tensors, Address workspace,
                  Stream stream) const;
  /// Adds `groups` runs of elements of the gradient's type to f32 ones.
  Status accumulate(const Plan &plan, Address part, uint64_t partStride,
                    Address sum, uint64_t sumStride, uint64_t groups,
                    Stream stream, Function kernel) const;
  /// Rounds packed f32 rows of a block's heads to a matrix.
  Status round(const Plan &plan, AttentionShape::Matrix matrix, int64_t rows,
               Address sum, Address target, Stream stream,
               Function kernel) const;

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
