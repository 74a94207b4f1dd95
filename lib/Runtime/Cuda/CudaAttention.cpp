//===- CudaAttention.cpp - Attention through cuDNN ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaAttention.h"
#include "rondo/Runtime/Program.h"
#include <algorithm>
#include <tuple>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using rondo::program::ElementType;
using Matrix = AttentionShape::Matrix;

CudaAttentions::~CudaAttentions() {
  if (lengthMemory)
    (void)driver.memFree(lengthMemory);
}

bool CudnnProblem::operator==(const CudnnProblem &other) const {
  auto key = [](const CudnnProblem &problem) {
    const AttentionSizes &s = problem.sizes;
    return std::tuple(s.batch, s.heads, s.keyHeads, s.rows, s.keys, s.depth,
                      s.valueDepth, problem.isGradient, problem.scale,
                      problem.causal, problem.window, problem.type);
  };
  auto equal = [](const AttentionShape::Strides &a,
                  const AttentionShape::Strides &b) {
    return a.batch == b.batch && a.head == b.head && a.row == b.row;
  };
  return key(*this) == key(other) && std::equal(strides.begin(), strides.end(),
                                                other.strides.begin(), equal);
}

static std::string attentionText(const CudnnProblem &problem) {
  const AttentionSizes &sizes = problem.sizes;
  std::string text = format(
      "%s of %lld batches, %lld heads (%lld of keys), %lld rows x %lld keys, "
      "depths %lld and %lld, %s",
      problem.isGradient ? "the gradient of attention" : "attention",
      (long long)sizes.batch, (long long)sizes.heads, (long long)sizes.keyHeads,
      (long long)sizes.rows, (long long)sizes.keys, (long long)sizes.depth,
      (long long)sizes.valueDepth, elementName(problem.type));
  if (problem.causal)
    text += ", causal";
  if (problem.window)
    text += format(", window %lld", (long long)problem.window);
  return text;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// The graph of a problem: a new one, or one that another call has, too.
Status CudaAttentions::findGraph(const CudnnProblem &problem, uint64_t limit,
                                 uint32_t &number) {
  for (number = 0; number < graphs.size(); ++number)
    if (graphs[number].first == problem)
      break;
  if (number == graphs.size()) {
    std::unique_ptr<CudnnGraph> graph;
    if (Status status = cudnn->build(problem, graph); !status.ok())
      return deviceError(cudnn->version() + " does not do " +
                         attentionText(problem) + ": " + status.message() +
                         "; " + kWithoutCudnn);
    graphs.emplace_back(problem, std::move(graph));
  }
  if (uint64_t wanted = graphs[number].second->workspaceBytes(); wanted > limit)
    return deviceError(
        format("%s wants a workspace of %s for %s, %s is planned; %s",
               cudnn->version().c_str(), formatBytes(wanted).c_str(),
               attentionText(problem).c_str(), formatBytes(limit).c_str(),
               kWithoutCudnn));
  return Status::success();
}

/// Plans a call of the library; parts that are to be added lie packed.
Status CudaAttentions::addPiece(Plan &plan, Piece piece, bool isCausal) {
  const AttentionShape &shape = plan.shape;
  const AttentionBlock &block = shape.block;
  CudnnProblem problem;
  problem.sizes = shape.sizes;
  problem.sizes.batch = block.batch;
  problem.sizes.heads = block.heads;
  problem.sizes.keyHeads =
      block.heads / (shape.sizes.heads / shape.sizes.keyHeads);
  problem.sizes.rows = piece.rows;
  problem.sizes.keys = piece.keys;
  problem.strides = shape.strides;
  problem.isGradient = shape.isGradient;
  problem.scale = shape.scale;
  problem.causal = isCausal;
  // One that reaches every key is none.
  problem.window = shape.window < piece.keys ? shape.window : 0;
  problem.type = shape.type;
  auto pack = [&](Matrix matrix, int64_t heads, int64_t rows, int64_t columns) {
    problem.strides[matrix] = {heads * rows * columns, rows * columns, columns};
  };
  if (plan.workspace.querySum)
    pack(Matrix::QueryGradient, block.heads, piece.rows, shape.sizes.depth);
  if (plan.workspace.keySum) {
    pack(Matrix::KeyGradient, problem.sizes.keyHeads, piece.keys,
         shape.sizes.depth);
    pack(Matrix::ValueGradient, problem.sizes.keyHeads, piece.keys,
         shape.sizes.valueDepth);
  }
  uint64_t limit = shape.isGradient ? shape.libraryBytes : shape.workspaceBytes;
  if (Status status = findGraph(problem, limit, piece.graph); !status.ok())
    return status;
  if (graphs[piece.graph].second->needsLengths()) {
    piece.lengths = 4 * lengths.size();
    lengths.insert(lengths.end(), (size_t)block.batch, (int32_t)piece.rows);
    lengths.insert(lengths.end(), (size_t)block.batch, (int32_t)piece.keys);
  }
  plan.pieces.push_back(piece);
  return Status::success();
}

/// Plans a block's rows from `row` on.
Status CudaAttentions::addRows(Plan &plan, int64_t row) {
  const AttentionShape &shape = plan.shape;
  const AttentionBlock &block = shape.block;
  Piece piece;
  piece.row = row;
  piece.rows = std::min(block.rows, shape.sizes.rows - row);
  int64_t end = shape.keyEnd(row + piece.rows - 1);
  if (block.keys == shape.sizes.keys) {
    // Masked keys at the beginning cost little; cuDNN likes multiples of 128.
    // Where nothing is summed, keys that no row sees get their zeros, too.
    int64_t begin =
        shape.isGradient && !plan.workspace.keySum ? 0 : shape.keyBegin(row);
    piece.keys = std::min(end, alignUp(end - begin, 128));
    piece.key = end - piece.keys;
    return addPiece(plan, piece, shape.causal);
  }
  int64_t square = shape.causal ? piece.rows : 0;
  for (; piece.key < end - square; piece.key += piece.keys) {
    piece.keys = std::min(block.keys, end - square - piece.key);
    if (Status status = addPiece(plan, piece, false); !status.ok())
      return status;
  }
  piece.keys = square;
  return square ? addPiece(plan, piece, true) : Status::success();
}

Status CudaAttentions::add(const AttentionShape &shape, uint32_t &number) {
  if (!cudnn)
    if (Status status = Cudnn::create(gpu, cudnn); !status.ok())
      return status;
  number = (uint32_t)plans.size();
  plans.emplace_back();
  Plan &plan = plans.back();
  plan.shape = shape;
  const AttentionSizes &sizes = shape.sizes;
  if (!shape.isGradient)
    plan.shape.block = {sizes.batch, sizes.heads, sizes.rows, sizes.keys};
  else
    plan.workspace = layOutAttention(sizes, shape.block, shape.libraryBytes);
  for (int64_t row = 0; row < sizes.rows; row += plan.shape.block.rows)
    if (Status status = addRows(plan, row); !status.ok())
      return status;
  return Status::success();
}

Status CudaAttentions::finish() {
  if (lengths.empty())
    return Status::success();
  lengthBytes = 4 * lengths.size();
  if (Status status =
          driver.status(driver.memAlloc(&lengthMemory, lengthBytes),
                        "cuMemAlloc of " + formatBytes(lengthBytes) +
                            " for lengths of attention");
      !status.ok())
    return status;
  if (Status status = driver.status(
          driver.memcpyAsync(lengthMemory,
                             reinterpret_cast<Address>(lengths.data()),
                             lengthBytes, nullptr),
          "cuMemcpyAsync of lengths of attention");
      !status.ok())
    return status;
  return driver.status(driver.streamSynchronize(nullptr),
                       "cuStreamSynchronize");
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static Address place(const AttentionShape &shape, const Address *addresses,
                     uint32_t matrix, int64_t batch, int64_t head,
                     int64_t row) {
  const AttentionShape::Strides &strides = shape.strides[matrix];
  return addresses[attentionAddress(matrix)] +
         2 * (uint64_t)(batch * strides.batch + head * strides.head +
                        row * strides.row);
}

uint64_t CudaAttentions::commands(uint32_t number) const {
  // cuDNN's backward has some kernels, and every part is cleared, added and
  // rounded.
  constexpr uint64_t kOfPiece = 24;
  const Plan &plan = plans[number];
  const AttentionSizes &sizes = plan.shape.sizes;
  const AttentionBlock &block = plan.shape.block;
  return (uint64_t)((sizes.batch + block.batch - 1) / block.batch *
                    ((sizes.heads + block.heads - 1) / block.heads)) *
         plan.pieces.size() * kOfPiece;
}

Status CudaAttentions::run(uint32_t number, const Address *addresses,
                           Stream stream, Function addPart,
                           Function roundRows) const {
  const Plan &plan = plans[number];
  const AttentionSizes &sizes = plan.shape.sizes;
  const AttentionBlock &block = plan.shape.block;
  for (int64_t batch = 0; batch < sizes.batch; batch += block.batch)
    for (int64_t head = 0; head < sizes.heads; head += block.heads)
      if (Status status = runBlock(plan, addresses, batch, head, stream,
                                   {addPart, roundRows});
          !status.ok())
        return status;
  return Status::success();
}

Status CudaAttentions::runBlock(const Plan &plan, const Address *addresses,
                                int64_t batch, int64_t head, Stream stream,
                                const Kernels &kernels) const {
  const AttentionShape &shape = plan.shape;
  const AttentionSizes &sizes = shape.sizes;
  const AttentionWorkspace &layout = plan.workspace;
  int64_t group = sizes.heads / sizes.keyHeads, keyHead = head / group;
  auto heads = (uint64_t)(shape.block.batch * shape.block.heads),
       keyHeads = heads / (uint64_t)group;
  Address workspace = addresses[shape.isGradient ? 9 : 5];
  auto clear = [&](uint64_t begin, uint64_t bytes) {
    return driver.status(
        driver.memsetAsync(workspace + begin, 0, bytes, stream),
        "cuMemsetD8Async");
  };
  if (layout.keySum)
    if (Status status = clear(layout.keySum, layout.bytes - layout.keySum);
        !status.ok())
      return status;
  for (size_t i = 0; i < plan.pieces.size(); ++i) {
    const Piece &piece = plan.pieces[i];
    bool isFirst = i == 0 || plan.pieces[i - 1].row != piece.row,
         isLast =
             i + 1 == plan.pieces.size() || plan.pieces[i + 1].row != piece.row;
    CudnnTensors tensors{};
    auto set = [&](Matrix matrix, int64_t matrixHead, int64_t row) {
      tensors[attentionAddress(matrix)] =
          place(shape, addresses, matrix, batch, matrixHead, row);
    };
    auto setPart = [&](Matrix matrix, uint64_t at) {
      tensors[attentionAddress(matrix)] = workspace + at;
    };
    set(Matrix::Query, head, piece.row);
    set(Matrix::Key, keyHead, piece.key);
    set(Matrix::Value, keyHead, piece.key);
    set(Matrix::Result, head, piece.row);
    Address statistics =
        addresses[kAttentionStatistics] +
        4 * (uint64_t)((batch * sizes.heads + head) * sizes.rows + piece.row);
    if (layout.statistics) {
      Address packed = workspace + layout.statistics;
      if (Status status =
              isFirst ? packStatistics(plan, piece, statistics, packed, stream)
                      : Status::success();
          !status.ok())
        return status;
      statistics = packed;
    }
    tensors[kAttentionStatistics] = statistics;
    uint64_t queryLine = (uint64_t)(piece.rows * sizes.depth);
    if (shape.isGradient) {
      set(Matrix::Cotangent, head, piece.row);
      set(Matrix::QueryGradient, head, piece.row);
      set(Matrix::KeyGradient, keyHead, piece.key);
      set(Matrix::ValueGradient, keyHead, piece.key);
      if (layout.querySum)
        setPart(Matrix::QueryGradient, layout.queryPart);
      if (layout.keySum) {
        setPart(Matrix::KeyGradient, layout.keyPart);
        setPart(Matrix::ValueGradient, layout.valuePart);
      }
    }
    if (layout.querySum && isFirst)
      if (Status status = clear(layout.querySum, 4 * heads * queryLine);
          !status.ok())
        return status;
    if (Status status = runPiece(plan, piece, tensors, workspace, stream);
        !status.ok())
      return status;
    if (layout.querySum)
      if (Status status = accumulate(plan, workspace + layout.queryPart,
                                     queryLine, workspace + layout.querySum,
                                     queryLine, heads, stream, kernels.addPart);
          !status.ok())
        return status;
    if (layout.keySum)
      for (auto [part, sum, columns] :
           {std::tuple(layout.keyPart, layout.keySum, sizes.depth),
            {layout.valuePart, layout.valueSum, sizes.valueDepth}})
        if (Status status = accumulate(
                plan, workspace + part, (uint64_t)(piece.keys * columns),
                workspace + sum + 4 * (uint64_t)(piece.key * columns),
                (uint64_t)(sizes.keys * columns), keyHeads, stream,
                kernels.addPart);
            !status.ok())
          return status;
    if (layout.querySum && isLast)
      if (Status status = round(plan, Matrix::QueryGradient, piece.rows,
                                workspace + layout.querySum,
                                place(shape, addresses, Matrix::QueryGradient,
                                      batch, head, piece.row),
                                stream, kernels.roundRows);
          !status.ok())
        return status;
  }
  if (!layout.keySum)
    return Status::success();
  for (auto [matrix, sum] : {std::pair(Matrix::KeyGradient, layout.keySum),
                             {Matrix::ValueGradient, layout.valueSum}})
    if (Status status =
            round(plan, matrix, sizes.keys, workspace + sum,
                  place(shape, addresses, matrix, batch, keyHead, 0), stream,
                  kernels.roundRows);
        !status.ok())
      return status;
  return Status::success();
}

/// cuDNN before 9.26 reads statistics that lie one after the other.
Status CudaAttentions::packStatistics(const Plan &plan, const Piece &piece,
                                      Address from, Address to,
                                      Stream stream) const {
  const AttentionSizes &sizes = plan.shape.sizes;
  const AttentionBlock &block = plan.shape.block;
  uint64_t bytes = 4 * (uint64_t)piece.rows;
  for (int64_t b = 0; b < block.batch; ++b)
    for (int64_t h = 0; h < block.heads; ++h, to += bytes) {
      Address source =
          from + 4 * (uint64_t)((b * sizes.heads + h) * sizes.rows);
      if (Result result = driver.memcpyAsync(to, source, bytes, stream);
          result != Success)
        return driver.status(result, "cuMemcpyAsync");
    }
  return Status::success();
}

Status CudaAttentions::runPiece(const Plan &plan, const Piece &piece,
                                const CudnnTensors &tensors, Address workspace,
                                Stream stream) const {
  const auto &[problem, graph] = graphs[piece.graph];
  Address rows = lengthMemory + piece.lengths;
  Status status =
      graph->run(tensors, rows, rows + 4 * (uint64_t)problem.sizes.batch,
                 workspace, stream);
  return status.ok()
             ? status
             : deviceError(cudnn->version() + ", " + attentionText(problem) +
                           ": " + status.message());
}

/// Blocks of 256 threads for so many vectors.
static unsigned blocksFor(uint64_t vectors) {
  return (unsigned)std::min<uint64_t>((vectors + 255) / 256, 1u << 14);
}

Status CudaAttentions::accumulate(const Plan &plan, Address part,
                                  uint64_t partStride, Address sum,
                                  uint64_t sumStride, uint64_t groups,
                                  Stream stream, Function kernel) const {
  uint64_t vectors = partStride / 8, half = plan.shape.type == ElementType::F16;
  // A grid has at most this many groups.
  constexpr uint64_t most = 65535;
  for (uint64_t group = 0; group < groups; group += most) {
    Address from = part + 2 * group * partStride,
            to = sum + 4 * group * sumStride;
    void *parameters[] = {&from, &to, &vectors, &partStride, &sumStride, &half};
    Result result = driver.launchKernel(
        kernel, blocksFor(vectors), (unsigned)std::min(groups - group, most), 1,
        256, 1, 1, 0, stream, parameters, nullptr);
    if (result != Success)
      return driver.status(result, "adding a part of a gradient");
  }
  return Status::success();
}

Status CudaAttentions::round(const Plan &plan, Matrix matrix, int64_t rows,
                             Address sum, Address target, Stream stream,
                             Function kernel) const {
  const AttentionShape &shape = plan.shape;
  const AttentionSizes &sizes = shape.sizes;
  const AttentionShape::Strides &strides = shape.strides[matrix];
  auto columns = (uint64_t)(matrix == Matrix::ValueGradient ? sizes.valueDepth
                                                            : sizes.depth);
  auto heads =
      (uint64_t)(matrix == Matrix::QueryGradient
                     ? shape.block.heads
                     : shape.block.heads / (sizes.heads / sizes.keyHeads));
  uint64_t rowVectors = columns / 8, rowCount = (uint64_t)rows,
           vectors =
               (uint64_t)shape.block.batch * heads * rowCount * rowVectors,
           batchStride = (uint64_t)strides.batch,
           headStride = (uint64_t)strides.head,
           rowStride = (uint64_t)strides.row,
           half = shape.type == ElementType::F16;
  void *parameters[] = {&sum,       &target, &vectors,     &rowVectors,
                        &rowCount,  &heads,  &batchStride, &headStride,
                        &rowStride, &half};
  return driver.status(driver.launchKernel(kernel, blocksFor(vectors), 1, 1,
                                           256, 1, 1, 0, stream, parameters,
                                           nullptr),
                       "rounding a gradient");
}
