//===- GpuRecorder.cpp - Kernel runs, to be repeated on a GPU ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuRecorder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <set>

using namespace mlir;
using namespace rondo;
using namespace rondo::test;

std::unique_ptr<GpuRecorder> GpuRecorder::create(const std::string &ptx) {
  const char *folder = std::getenv("RONDO_GPU_CASES");
  if (!folder)
    return nullptr;
  static int number = 0;
  std::string prefix = std::string(folder) + "/" + std::to_string(number++);
  std::ofstream(prefix + ".ptx") << ptx;
  std::unique_ptr<GpuRecorder> recorder(new GpuRecorder);
  recorder->index.open(prefix + ".index");
  recorder->data.open(prefix + ".data", std::ios::binary);
  if (!recorder->index || !recorder->data) {
    ADD_FAILURE() << "cannot write to RONDO_GPU_CASES, " << folder;
    return nullptr;
  }
  return recorder;
}

uint64_t GpuRecorder::write(const Bytes &bytes) {
  data.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  return std::exchange(end, end + bytes.size());
}

/// Whether the GPU must give the host's bits: where it adds in another order,
/// or the host has libm's function, it need not.
static bool isExact(Operation *op) {
  auto fused = dyn_cast<kern::FusedOp>(op);
  if (!fused)
    return true;
  bool isExact = fused.getKind() == kern::FusedKind::Elementwise;
  fused.walk([&](Operation *inner) {
    if (isa<math::PowFOp>(inner) || (isa<math::ExpOp, math::LogOp>(inner) &&
                                     inner->getResult(0).getType().isF64()))
      isExact = false;
  });
  return isExact;
}

void GpuRecorder::record(const std::string &function, Operation *op,
                         const target::Call &call,
                         const std::vector<Bytes> &before,
                         const std::vector<Bytes> &after, int status) {
  index << "call " << function << ' ' << call.gpuSymbol << ' ' << isExact(op)
        << ' ' << status;
  for (uint32_t extent : call.grid)
    index << ' ' << extent;
  for (uint32_t extent : call.block)
    index << ' ' << extent;
  index << '\n';
  std::set<uint32_t> used;
  for (const target::Call::Address &address : call.addresses) {
    index << "address " << address.argument << ' ' << address.offset << '\n';
    used.insert(address.argument);
  }
  for (uint32_t argument : used) {
    uint64_t first = write(before[argument]), last = first;
    if (after[argument] != before[argument])
      last = write(after[argument]);
    index << "memory " << argument << ' ' << before[argument].size() << ' '
          << first << ' ' << last << '\n';
  }
  auto parent = op->getParentOfType<kern::FuncOp>();
  for (OpOperand *operand : kern::getEffects(op).writes) {
    Value memref = operand->get();
    auto argument = dyn_cast<BlockArgument>(memref);
    uint64_t offset =
        argument ? 0
                 : *cast<kern::ScratchOp>(memref.getDefiningOp()).getOffset();
    std::string element;
    llvm::raw_string_ostream(element)
        << cast<MemRefType>(memref.getType()).getElementType();
    index << "output "
          << (argument ? argument.getArgNumber() : parent.getNumArguments())
          << ' ' << offset << ' ' << kern::getBytes(memref) << ' ' << element
          << '\n';
  }
}
