//===- VerifyUpdates.cpp - Whether updates on devices are consistent ------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramVerifier.h"
#include <algorithm>

using namespace rondo;
using namespace rondo::runtime;
using Verifier = ProgramVerifier;
using program::OpKind;

/// Of one parameter, as the optimizer's kernel reads them.
constexpr uint64_t kScalarBytes = 32;

void Verifier::checkUpdateScalars(const program::Op &op,
                                  const std::string &what) {
  const program::Block *updated = takeUpdated(op, what);
  if (!updated)
    return;
  const program::Block &block = *updated;
  pieces[op.block()];
  bool clips = table.optimizer()->clip_norm() > 0 || scalesLoss();
  uint32_t last = clips ? 2 : 1;
  if (operandCount(op) != last + 1) {
    fail("%s: %u operands, not %u", what.c_str(), operandCount(op), last + 1);
    return;
  }
  if (!holdsGradient(op, 0, block))
    fail("%s: a gradient of %llu bytes, not %llu", what.c_str(),
         (unsigned long long)operandBytes(op, 0),
         (unsigned long long)block.gradient_bytes());
  if (clips && operandBytes(op, 1) < 4)
    fail("%s: no room for the gradient's coefficient", what.c_str());
  uint64_t needed = kScalarBytes * members[(uint32_t)op.block()].size();
  if (operandBytes(op, last) < needed)
    fail("%s: %llu bytes for scalars of %llu", what.c_str(),
         (unsigned long long)operandBytes(op, last),
         (unsigned long long)needed);
}

/// Its copies are right around it, and it touches what they bring and take:
/// then the waits that order them order all.
void Verifier::checkDeviceUpdate(uint32_t index, const std::string &what) {
  const program::Op &op = *table.ops()->Get(index);
  checkLaunch(op, what);
  if (op.block() < 0 || (uint32_t)op.block() >= sizeOf(table.blocks())) {
    fail("%s: block %d of %u", what.c_str(), op.block(),
         sizeOf(table.blocks()));
    return;
  }
  uint32_t operands = operandCount(op);
  bool copies = operands == kStateUploads + 1;
  uint32_t back = copies ? kStateDownloads + 1 : kStateDownloads;
  if ((operands != kStateUploads && !copies) || index < kStateUploads ||
      index + back >= sizeOf(table.ops())) {
    fail("%s: %u operands, not %u or %u, or no room for its copies",
         what.c_str(), operands, kStateUploads, kStateUploads + 1);
    return;
  }
  const program::Block &block = *table.blocks()->Get((uint32_t)op.block());
  // The copy `at`, which moves operand `operand`; its end in host memory.
  auto find = [&](uint32_t at, OpKind kind,
                  uint32_t operand) -> const program::Operand * {
    const program::Op &copy = *table.ops()->Get(at);
    bool up = kind == OpKind::Upload;
    if (copy.kind() != kind ||
        copy.lane() !=
            (up ? program::Lane::StateUp : program::Lane::StateDown) ||
        copy.device() != op.device() || copy.block() != op.block() ||
        operandCount(copy) != 2) {
      fail("%s: op %u is not a copy of its state", what.c_str(), at);
      return nullptr;
    }
    const program::Operand &mine = *op.operands()->Get(operand),
                           &here = *copy.operands()->Get(up ? 1 : 0);
    if (mine.bytes() != here.bytes() || mine.offset() != here.offset() ||
        sizeOf(mine.buffers()) != 1 || sizeOf(here.buffers()) != 1 ||
        mine.buffers()->Get(0) != here.buffers()->Get(0)) {
      fail("%s: op %u copies something else than its operand %u", what.c_str(),
           at, operand);
      return nullptr;
    }
    return copy.operands()->Get(up ? 0 : 1);
  };
  auto isListed = [&](const program::Operand &operand,
                      const flatbuffers::Vector<uint32_t> *list) {
    return list && std::all_of(operand.buffers()->begin(),
                               operand.buffers()->end(), [&](uint32_t buffer) {
                                 return std::find(list->begin(), list->end(),
                                                  buffer) != list->end();
                               });
  };
  auto expect = [&](const program::Operand *operand,
                    const flatbuffers::Vector<uint32_t> *list,
                    const char *name) {
    if (operand && !isListed(*operand, list))
      fail("%s: it is not the block's %s that is copied", what.c_str(), name);
  };
  auto scalars = operands - 1;
  find(index - kStateUploads, OpKind::Upload, 0);
  expect(find(index - 4, OpKind::Upload, 1), block.master(), "master");
  expect(find(index - 3, OpKind::Upload, 2), block.moments(), "moments");
  expect(find(index - 2, OpKind::Upload, 3), block.moments(), "moments");
  find(index - 1, OpKind::Upload, scalars);
  Ranges &ranges = pieces[op.block()];
  for (uint32_t i = 0; i < back; ++i) {
    const auto *list = i == 0                 ? block.master()
                       : i == kStateDownloads ? block.upload()
                                              : block.moments();
    const program::Operand *there =
        find(index + 1 + i, OpKind::Download, 1 + i);
    expect(there, list, i == 0 ? "master" : "state");
    if (there)
      ranges.parts[i].emplace_back(there->offset(),
                                   there->offset() + there->bytes());
  }
}

/// Whether every parameter comes back whole.
void Verifier::checkPieces() {
  for (auto &[number, ranges] : pieces) {
    for (auto &parts : ranges.parts)
      std::sort(parts.begin(), parts.end());
    if (!optimized.count(number))
      fail("block %d is updated on devices without scalars", number);
    for (uint32_t member : members[(size_t)number]) {
      const program::Parameter &parameter = *table.parameters()->Get(member);
      uint64_t elements = 0;
      if (!countElements(parameter.shape(), elements))
        continue;
      auto expect = [&](uint32_t part, uint64_t begin, uint64_t bytes) {
        uint64_t end = begin + bytes;
        for (auto [first, last] : ranges.parts[part])
          if (first <= begin && begin < last)
            begin = last;
        if (begin < end)
          fail("block %d: nothing brings '%s' back from its update", number,
               std::string(text(parameter.name())).c_str());
      };
      expect(0, masterOffset(table, parameter), 4 * elements);
      for (uint32_t part : {1, 2})
        expect(part, (uint64_t)parameter.state_offset(), 4 * elements);
      const program::Block &block = *table.blocks()->Get(parameter.block());
      bool isMaster = sizeOf(block.master()) && sizeOf(block.upload()) &&
                      block.master()->Get(0) == block.upload()->Get(0);
      if (!isMaster)
        expect(3, parameter.member_offset(),
               elements * elementBytes(parameter.upload_type()));
    }
  }
}
