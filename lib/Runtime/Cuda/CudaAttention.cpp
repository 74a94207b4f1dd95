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

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using rondo::program::ElementType;
using Matrix = AttentionShape::Matrix;

CudaAttentions::~CudaAttentions() {
  if (lengthMemory)
    (void)driver.memFree(lengthMemory);
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

/// Plans a block's rows from `row` on, and the keys that one of them sees.
Status CudaAttentions::addRows(Plan &plan, const AttentionBlock &block,
                               int64_t row) {
  const AttentionShape &shape = plan.shape;
  Rows rows;
  rows.row = row;
  rows.rows = std::min(block.rows, shape.sizes.rows - row);
  int64_t end = shape.keyEnd(row + rows.rows - 1);
  // Masked keys at the beginning cost little; cuDNN likes multiples of 128.
  rows.keys = std::min(end, alignUp(end - shape.keyBegin(row), 128));
  rows.key = end - rows.keys;
  CudnnProblem problem;
  problem.sizes = shape.sizes;
  problem.sizes.batch = block.batch;
  problem.sizes.heads = block.heads;
  problem.sizes.keyHeads =
      block.heads / (shape.sizes.heads / shape.sizes.keyHeads);
  problem.sizes.rows = rows.rows;
  problem.sizes.keys = rows.keys;
  problem.strides = shape.strides;
  problem.isGradient = shape.isGradient;
  problem.scale = shape.scale;
  problem.causal = shape.causal;
  // One that reaches every key is none.
  problem.window = shape.window < rows.keys ? shape.window : 0;
  problem.type = shape.type;
  if (block.rows < shape.sizes.rows) {
    // Parts of dK and dV are packed.
    auto pack = [&](Matrix matrix, int64_t columns) {
      problem.strides[matrix] = {problem.sizes.keyHeads * rows.keys * columns,
                                 rows.keys * columns, columns};
    };
    pack(Matrix::KeyGradient, shape.sizes.depth);
    pack(Matrix::ValueGradient, shape.sizes.valueDepth);
  }
  uint64_t limit = shape.isGradient ? shape.libraryBytes : shape.workspaceBytes;
  if (Status status = findGraph(problem, limit, rows.graph); !status.ok())
    return status;
  if (graphs[rows.graph].second->needsLengths()) {
    rows.lengths = 4 * lengths.size();
    lengths.insert(lengths.end(), (size_t)block.batch, (int32_t)rows.rows);
    lengths.insert(lengths.end(), (size_t)block.batch, (int32_t)rows.keys);
  }
  plan.rows.push_back(rows);
  return Status::success();
}

Status CudaAttentions::add(const AttentionShape &shape, uint32_t &number) {
  if (!cudnn)
    if (Status status = Cudnn::create(gpu, cudnn); !status.ok())
      return status;
  number = (uint32_t)plans.size();
  plans.emplace_back();
  Plan &plan = plans.back();
  plan.shape = shape;
  if (!shape.isGradient)
    plan.shape.block = {shape.sizes.batch, shape.sizes.heads, shape.sizes.rows};
  else
    plan.workspace =
        layOutAttention(shape.sizes, shape.block, shape.libraryBytes);
  for (int64_t row = 0; row < shape.sizes.rows; row += plan.shape.block.rows)
    if (Status status = addRows(plan, plan.shape.block, row); !status.ok())
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

Status CudaAttentions::run(uint32_t number, const Address *addresses,
                           Stream stream, Function addPart,
                           Function roundRows) const {
  const Plan &plan = plans[number];
  const AttentionSizes &sizes = plan.shape.sizes;
  const AttentionBlock &block = plan.shape.block;
  for (int64_t batch = 0; batch < sizes.batch; batch += block.batch)
    for (int64_t head = 0; head < sizes.heads; head += block.heads)
      if (Status status = runBlock(plan, addresses, batch, head, stream,
                                   addPart, roundRows);
          !status.ok())
        return status;
  return Status::success();
}

Status CudaAttentions::runBlock(const Plan &plan, const Address *addresses,
                                int64_t batch, int64_t head, Stream stream,
                                Function addPart, Function roundRows) const {
  const AttentionShape &shape = plan.shape;
  const AttentionSizes &sizes = shape.sizes;
  const AttentionWorkspace &layout = plan.workspace;
  int64_t keyHead = head / (sizes.heads / sizes.keyHeads);
  Address workspace = addresses[shape.isGradient ? 9 : 5];
  bool isSummed = plan.rows.size() > 1;
  if (isSummed)
    if (Status status = driver.status(
            driver.memsetAsync(workspace + layout.keySum, 0,
                               layout.bytes - layout.keySum, stream),
            "cuMemsetD8Async");
        !status.ok())
      return status;
  for (const Rows &rows : plan.rows) {
    CudnnTensors tensors{};
    auto set = [&](Matrix matrix, int64_t matrixHead, int64_t row) {
      tensors[attentionAddress(matrix)] =
          place(shape, addresses, matrix, batch, matrixHead, row);
    };
    set(Matrix::Query, head, rows.row);
    set(Matrix::Key, keyHead, rows.key);
    set(Matrix::Value, keyHead, rows.key);
    set(Matrix::Result, head, rows.row);
    Address statistics =
        addresses[kAttentionStatistics] +
        4 * (uint64_t)((batch * sizes.heads + head) * sizes.rows + rows.row);
    tensors[kAttentionStatistics] = statistics;
    if (shape.isGradient) {
      set(Matrix::Cotangent, head, rows.row);
      set(Matrix::QueryGradient, head, rows.row);
      if (isSummed) {
        tensors[attentionAddress(Matrix::KeyGradient)] =
            workspace + layout.keyPart;
        tensors[attentionAddress(Matrix::ValueGradient)] =
            workspace + layout.valuePart;
      } else {
        set(Matrix::KeyGradient, keyHead, 0);
        set(Matrix::ValueGradient, keyHead, 0);
      }
      if (layout.statistics) {
        // cuDNN before 9.26 reads them packed alone.
        Address packed = workspace + layout.statistics;
        tensors[kAttentionStatistics] = packed;
        for (int64_t b = 0; b < shape.block.batch; ++b)
          for (int64_t h = 0; h < shape.block.heads; ++h) {
            uint64_t bytes = 4 * (uint64_t)rows.rows;
            Address from =
                statistics + 4 * (uint64_t)((b * sizes.heads + h) * sizes.rows);
            if (Status status = driver.status(
                    driver.memcpyAsync(packed, from, bytes, stream),
                    "cuMemcpyAsync");
                !status.ok())
              return status;
            packed += bytes;
          }
      }
    }
    if (Status status = runRows(plan, rows, tensors, workspace, stream);
        !status.ok())
      return status;
    if (isSummed)
      if (Status status = launchAdd(plan, rows, workspace, stream, addPart);
          !status.ok())
        return status;
  }
  if (!isSummed)
    return Status::success();
  for (auto [matrix, sum] : {std::pair(Matrix::KeyGradient, layout.keySum),
                             {Matrix::ValueGradient, layout.valueSum}})
    if (Status status =
            launchRound(plan, matrix, workspace + sum,
                        place(shape, addresses, matrix, batch, keyHead, 0),
                        stream, roundRows);
        !status.ok())
      return status;
  return Status::success();
}

Status CudaAttentions::runRows(const Plan &plan, const Rows &rows,
                               const CudnnTensors &tensors, Address workspace,
                               Stream stream) const {
  const auto &[problem, graph] = graphs[rows.graph];
  Address lengths = lengthMemory + rows.lengths;
  Status status =
      graph->run(tensors, lengths, lengths + 4 * (uint64_t)problem.sizes.batch,
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

Status CudaAttentions::launchAdd(const Plan &plan, const Rows &rows,
                                 Address workspace, Stream stream,
                                 Function addPart) const {
  const AttentionShape &shape = plan.shape;
  const AttentionSizes &sizes = shape.sizes;
  const AttentionWorkspace &layout = plan.workspace;
  uint64_t groups = (uint64_t)(shape.block.batch * shape.block.heads) /
                    (uint64_t)(sizes.heads / sizes.keyHeads);
  for (auto [partAt, sumAt, columns] :
       {std::tuple(layout.keyPart, layout.keySum, sizes.depth),
        {layout.valuePart, layout.valueSum, sizes.valueDepth}}) {
    auto line = (uint64_t)columns;
    uint64_t partStride = (uint64_t)rows.keys * line,
             sumStride = (uint64_t)sizes.keys * line, vectors = partStride / 8,
             half = shape.type == ElementType::F16;
    // A grid has at most this many groups.
    constexpr uint64_t most = 65535;
    for (uint64_t group = 0; group < groups; group += most) {
      Address part = workspace + partAt + 2 * group * partStride,
              sum = workspace + sumAt + 4 * group * sumStride +
                    4 * (uint64_t)rows.key * line;
      void *parameters[] = {&part,       &sum,       &vectors,
                            &partStride, &sumStride, &half};
      Result result = driver.launchKernel(
          addPart, blocksFor(vectors), (unsigned)std::min(groups - group, most),
          1, 256, 1, 1, 0, stream, parameters, nullptr);
      if (result != Success)
        return driver.status(result, "adding a part of a gradient");
    }
  }
  return Status::success();
}

Status CudaAttentions::launchRound(const Plan &plan, uint32_t matrix,
                                   Address sum, Address target, Stream stream,
                                   Function roundRows) const {
  const AttentionShape &shape = plan.shape;
  const AttentionSizes &sizes = shape.sizes;
  const AttentionShape::Strides &strides = shape.strides[matrix];
  auto columns = (uint64_t)(matrix == Matrix::KeyGradient ? sizes.depth
                                                          : sizes.valueDepth);
  auto heads = (uint64_t)(shape.block.heads / (sizes.heads / sizes.keyHeads));
  uint64_t rowVectors = columns / 8, rows = (uint64_t)sizes.keys,
           vectors = (uint64_t)shape.block.batch * heads * rows * rowVectors,
           batchStride = (uint64_t)strides.batch,
           headStride = (uint64_t)strides.head,
           rowStride = (uint64_t)strides.row,
           half = shape.type == ElementType::F16;
  void *parameters[] = {&sum,   &target,      &vectors,    &rowVectors, &rows,
                        &heads, &batchStride, &headStride, &rowStride,  &half};
  return driver.status(driver.launchKernel(roundRows, blocksFor(vectors), 1, 1,
                                           256, 1, 1, 0, stream, parameters,
                                           nullptr),
                       "rounding a gradient");
}
