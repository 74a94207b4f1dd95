//===- VerifyOps.cpp - Whether a program's operations are consistent ------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramVerifier.h"
#include "rondo/Runtime/Device.h"
#include <algorithm>
#include <tuple>

using namespace rondo;
using namespace rondo::runtime;
using Verifier = ProgramVerifier;
using program::OpKind;
using program::Space;
using ProgramLane = program::Lane;

/// Longest distance of a wait: more than any cycle, little enough to add up.
constexpr uint32_t kMaxDistance = 1u << 20;

static bool laneTakes(ProgramLane lane, OpKind kind) {
  switch (kind) {
  case OpKind::Upload:
    return lane == ProgramLane::ParameterUp ||
           lane == ProgramLane::ActivationUp || lane == ProgramLane::StateUp;
  case OpKind::Download:
    return lane == ProgramLane::GradientDown ||
           lane == ProgramLane::ActivationDown ||
           lane == ProgramLane::StateDown;
  case OpKind::PeerCopy:
    return lane != ProgramLane::Compute && !isHostLane(lane);
  case OpKind::Launch:
  case OpKind::Zero:
  case OpKind::Round:
    return lane == ProgramLane::Compute;
  case OpKind::StageInput:
  case OpKind::CountLabels:
  case OpKind::Seed:
  case OpKind::Loss:
    return lane == ProgramLane::Staging;
  case OpKind::Accumulate:
  case OpKind::Norm:
  case OpKind::Clip:
  case OpKind::Optimizer:
  case OpKind::UpdateScalars:
    return lane == ProgramLane::Update;
  case OpKind::DeviceUpdate:
    return lane == ProgramLane::StateUp;
  }
  return false;
}

void Verifier::checkOps() {
  members.resize(sizeOf(table.blocks()));
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i)
    if (const program::Parameter &parameter = *table.parameters()->Get(i);
        parameter.trainable())
      members[parameter.block()].push_back(i);
  // Events count in 31 bits and operations in 32: no program comes near.
  if (sizeOf(table.ops()) == 0)
    fail("no operations");
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i)
    checkOp(i);
  if (kinds[OpKind::Loss] != 1)
    fail("%u Loss operations, not one", kinds[OpKind::Loss]);
  if (kinds[OpKind::Seed] > 1 || kinds[OpKind::Clip] > 1)
    fail("%u Seed and %u Clip operations, at most one of each",
         kinds[OpKind::Seed], kinds[OpKind::Clip]);
  if (scalesLoss() && (kinds[OpKind::Seed] != 1 || kinds[OpKind::Clip] != 1))
    fail("losses are scaled, but %u Seed and %u Clip operations do it",
         kinds[OpKind::Seed], kinds[OpKind::Clip]);
  for (uint32_t block = 0; block < members.size(); ++block)
    if (!members[block].empty() && !optimized.count((int32_t)block))
      fail("%s has trainable parameters but no Optimizer operation",
           quoted("block", block, table.blocks()->Get(block)->name()).c_str());
  checkPieces();
}

void Verifier::checkOp(uint32_t index) {
  const program::Op &op = *table.ops()->Get(index);
  if (op.kind() > OpKind::DeviceUpdate || op.lane() > ProgramLane::StateDown) {
    fail("op %u: kind %d on lane %d", index, (int)op.kind(), (int)op.lane());
    return;
  }
  std::string what = opText(table, index);
  ++kinds[op.kind()];
  if (!laneTakes(op.lane(), op.kind()))
    fail("%s: a %s does not run on lane %s", what.c_str(),
         program::EnumNameOpKind(op.kind()), program::EnumNameLane(op.lane()));
  bool host = isHostLane(op.lane());
  if (host ? op.device() != -1
           : op.device() < 0 || (uint32_t)op.device() >= table.devices())
    fail("%s: on device %d of %u", what.c_str(), op.device(), table.devices());
  // Whatever its kind makes of them: those who print it go by these.
  for (auto [name, number, limit] :
       {std::tuple("entry", op.entry(), sizeOf(table.entries())),
        {"block", op.block(), sizeOf(table.blocks())},
        {"input", op.input(), sizeOf(table.inputs())}})
    if (number < -1 || number >= (int64_t)limit) {
      fail("%s: %s %d of %u", what.c_str(), name, number, limit);
      return;
    }
  for (uint32_t i = 0; i < sizeOf(op.waits()); ++i) {
    const program::Wait &wait = *op.waits()->Get(i);
    if (wait.op() >= sizeOf(table.ops()) || wait.distance() > kMaxDistance)
      fail("%s: waits for op %u of %u, %u iterations ago", what.c_str(),
           wait.op(), sizeOf(table.ops()), wait.distance());
    else if (wait.distance() == 0 && wait.op() >= index)
      fail("%s: waits for op %u, which is issued no earlier", what.c_str(),
           wait.op());
  }
  bool sound = true;
  for (uint32_t i = 0; i < operandCount(op); ++i)
    sound &= checkOperand(*op.operands()->Get(i),
                          what + " operand " + std::to_string(i));
  if (!sound)
    return;
  checkSpaces(op, what);
  switch (op.kind()) {
  case OpKind::Upload:
  case OpKind::Download:
  case OpKind::PeerCopy:
    if (operandCount(op) != 2)
      fail("%s: %u operands, not two", what.c_str(), operandCount(op));
    else if (operandBytes(op, 0) != operandBytes(op, 1))
      fail("%s: copies %llu bytes to %llu", what.c_str(),
           (unsigned long long)operandBytes(op, 0),
           (unsigned long long)operandBytes(op, 1));
    return;
  case OpKind::Zero:
  case OpKind::Round:
    if (operandCount(op) != 1)
      fail("%s: %u operands, not one", what.c_str(), operandCount(op));
    else if (op.kind() == OpKind::Round && operandBytes(op, 0) % 4 != 0)
      fail("%s: rounds %llu bytes of float32", what.c_str(),
           (unsigned long long)operandBytes(op, 0));
    return;
  case OpKind::Launch:
    return checkLaunch(op, what);
  case OpKind::DeviceUpdate:
    return checkDeviceUpdate(index, what);
  case OpKind::StageInput:
  case OpKind::CountLabels:
  case OpKind::Seed:
  case OpKind::Loss:
    return checkStaging(op, what);
  default:
    return checkUpdate(op, what);
  }
}

bool Verifier::checkOperand(const program::Operand &operand,
                            const std::string &what) {
  if (sizeOf(operand.buffers()) == 0 || operand.access() < 1 ||
      operand.access() > 3) {
    fail("%s: %u buffers, access %d", what.c_str(), sizeOf(operand.buffers()),
         (int)operand.access());
    return false;
  }
  for (uint32_t index : *operand.buffers()) {
    if (index >= sizeOf(table.buffers())) {
      fail("%s: buffer %u of %u", what.c_str(), index, sizeOf(table.buffers()));
      return false;
    }
    const program::Buffer &buffer = *table.buffers()->Get(index);
    const program::Buffer &first =
        *table.buffers()->Get(operand.buffers()->Get(0));
    if (buffer.space() != first.space() || buffer.device() != first.device()) {
      fail("%s: its buffers are in different places", what.c_str());
      return false;
    }
    if (!fits(operand.offset(), operand.bytes(), buffer.bytes())) {
      fail("%s: bytes [%llu, +%llu) of a buffer of %llu", what.c_str(),
           (unsigned long long)operand.offset(),
           (unsigned long long)operand.bytes(),
           (unsigned long long)buffer.bytes());
      return false;
    }
  }
  return true;
}

void Verifier::checkSpaces(const program::Op &op, const std::string &what) {
  bool host = isHostLane(op.lane());
  for (uint32_t i = 0; i < operandCount(op); ++i) {
    const program::Operand &operand = *op.operands()->Get(i);
    const program::Buffer &buffer =
        *table.buffers()->Get(operand.buffers()->Get(0));
    bool onDevice = !host;
    if (op.kind() == OpKind::Upload)
      onDevice = i == 1;
    if (op.kind() == OpKind::Download)
      onDevice = i == 0;
    // A transfer reaches the pinned arena alone; host lanes reach both.
    bool right = onDevice ? buffer.space() == Space::Device
                          : buffer.space() == Space::Pinned ||
                                (host && buffer.space() == Space::Host);
    if (!right)
      fail("%s: operand %u is in %s memory", what.c_str(), i,
           program::EnumNameSpace(buffer.space()));
    else if (onDevice && op.kind() != OpKind::PeerCopy &&
             buffer.device() != -1 && buffer.device() != op.device())
      fail("%s: operand %u is on device %d, not %d", what.c_str(), i,
           buffer.device(), op.device());
    if (host && operand.offset() % 8 != 0)
      fail("%s: operand %u begins at %llu, not at a multiple of 8",
           what.c_str(), i, (unsigned long long)operand.offset());
  }
}

void Verifier::checkLaunch(const program::Op &op, const std::string &what) {
  if (op.entry() < 0 || (uint32_t)op.entry() >= needed.size()) {
    fail("%s: entry %d of %zu", what.c_str(), op.entry(), needed.size());
    return;
  }
  const std::vector<uint64_t> &bytes = needed[op.entry()];
  if (operandCount(op) != bytes.size()) {
    fail("%s: %u operands for %zu arguments", what.c_str(), operandCount(op),
         bytes.size());
    return;
  }
  for (uint32_t i = 0; i < bytes.size(); ++i)
    if (operandBytes(op, i) < bytes[i])
      fail("%s: argument %u has %llu bytes, its calls touch %llu", what.c_str(),
           i, (unsigned long long)operandBytes(op, i),
           (unsigned long long)bytes[i]);
}

void Verifier::checkStaging(const program::Op &op, const std::string &what) {
  uint32_t step = table.rounds() * table.micro_batches();
  if (op.kind() == OpKind::StageInput) {
    if (op.input() < 0 || (uint32_t)op.input() >= sizeOf(table.inputs()) ||
        stepMicroBatch(table, op) >= step) {
      fail("%s: input %d, micro-batch %u of %u", what.c_str(), op.input(),
           stepMicroBatch(table, op), step);
      return;
    }
    const program::Input &input = *table.inputs()->Get(op.input());
    uint64_t elements = 0;
    if (!countElements(input.shape(), elements))
      return;
    uint64_t bytes = elements * elementBytes(input.type());
    if (operandCount(op) != 1 || operandBytes(op, 0) != bytes)
      fail("%s: %u operands of %llu bytes for %llu bytes of input",
           what.c_str(), operandCount(op),
           (unsigned long long)(operandCount(op) ? operandBytes(op, 0) : 0),
           (unsigned long long)bytes);
    return;
  }
  if (op.kind() == OpKind::CountLabels) {
    checkLaunch(op, what);
    return;
  }
  uint32_t scalars = table.weigh_by_labels() ? 2 * step : step;
  if (op.kind() == OpKind::Seed && scalesLoss())
    ++scalars;
  if (operandCount(op) != scalars) {
    fail("%s: %u operands, not %u: %u micro-batches%s", what.c_str(),
         operandCount(op), scalars, step,
         table.weigh_by_labels() ? " with a label count each" : "");
    return;
  }
  for (uint32_t i = 0; i < scalars; ++i)
    if (operandBytes(op, i) < 4)
      fail("%s: operand %u has %llu bytes", what.c_str(), i,
           (unsigned long long)operandBytes(op, i));
}

void Verifier::checkUpdate(const program::Op &op, const std::string &what) {
  uint32_t operands = operandCount(op);
  if (operands < 2) {
    fail("%s: %u operands", what.c_str(), operands);
    return;
  }
  switch (op.kind()) {
  case OpKind::Accumulate:
    if (operands != 2 || operandBytes(op, 0) % 4 != 0 ||
        (operandBytes(op, 0) != operandBytes(op, 1) &&
         !(roundsGradients() &&
           operandBytes(op, 0) == 2 * operandBytes(op, 1))))
      fail("%s: adds %llu bytes to %llu", what.c_str(),
           (unsigned long long)operandBytes(op, 1),
           (unsigned long long)operandBytes(op, 0));
    return;
  case OpKind::Norm:
    if (operandBytes(op, operands - 1) < 8ull * (operands - 1) ||
        operandBytes(op, operands - 1) % 8 != 0)
      fail("%s: %llu bytes for %u partial sums", what.c_str(),
           (unsigned long long)operandBytes(op, operands - 1), operands - 1);
    for (uint32_t i = 0; i + 1 < operands; ++i) {
      int64_t block = blockOfGradient(table, op, i);
      if (block < 0 || block >= sizeOf(table.blocks()))
        fail("%s: operand %u is no block's gradient", what.c_str(), i);
      else if (!holdsGradient(op, i, *table.blocks()->Get((uint32_t)block)))
        fail("%s: operand %u has %llu bytes, its block's gradient %llu",
             what.c_str(), i, (unsigned long long)operandBytes(op, i),
             (unsigned long long)table.blocks()
                 ->Get((uint32_t)block)
                 ->gradient_bytes());
    }
    return;
  case OpKind::Clip: {
    uint32_t sums = operands - 1;
    if (scalesLoss() && operandBytes(op, --sums) < 4)
      fail("%s: no room for the loss scale", what.c_str());
    for (uint32_t i = 0; i < sums; ++i)
      if (operandBytes(op, i) % 8 != 0)
        fail("%s: operand %u has %llu bytes of doubles", what.c_str(), i,
             (unsigned long long)operandBytes(op, i));
    if (operandBytes(op, operands - 1) < 4 || !table.optimizer() ||
        !(table.optimizer()->clip_norm() > 0 || scalesLoss()))
      fail("%s: without a norm to clip to", what.c_str());
    return;
  }
  case OpKind::UpdateScalars:
    return checkUpdateScalars(op, what);
  default:
    return checkOptimizer(op, what);
  }
}

const program::Block *Verifier::takeUpdated(const program::Op &op,
                                            const std::string &what) {
  if (!table.optimizer() || op.block() < 0 ||
      (uint32_t)op.block() >= sizeOf(table.blocks())) {
    fail("%s: block %d of %u%s", what.c_str(), op.block(),
         sizeOf(table.blocks()),
         table.optimizer() ? "" : ", and the program has no optimizer");
    return nullptr;
  }
  if (!optimized.insert(op.block()).second)
    fail("%s: block %d is updated twice", what.c_str(), op.block());
  return table.blocks()->Get((uint32_t)op.block());
}

void Verifier::checkOptimizer(const program::Op &op, const std::string &what) {
  const program::Block *updated = takeUpdated(op, what);
  if (!updated)
    return;
  const program::Block &block = *updated;
  OptimizerOperands operands = optimizerOperands(table, op);
  uint32_t without = (uint32_t)(operands.moments + operands.momentCount);
  if (operandCount(op) != without && operandCount(op) != without + 1) {
    fail("%s: %u operands, not %u or %u", what.c_str(), operandCount(op),
         without, without + 1);
    return;
  }
  if (!holdsGradient(op, 0, block))
    fail("%s: a gradient of %llu bytes, not %llu", what.c_str(),
         (unsigned long long)operandBytes(op, 0),
         (unsigned long long)block.gradient_bytes());
  if (operands.coefficient >= 0 &&
      operandBytes(op, (uint32_t)operands.coefficient) < 4)
    fail("%s: no room for the gradient's coefficient", what.c_str());
  const flatbuffers::String *symbol =
      operands.upload >= 0 ? table.optimizer()->symbol_with_copy()
                           : table.optimizer()->symbol();
  if (text(symbol).empty())
    fail("%s: the program has no kernel for this update", what.c_str());
  // Parameters are read and written by name through the block's lists: the
  // update must use the same buffers.
  auto expect = [&](int index, const flatbuffers::Vector<uint32_t> *list,
                    const char *name) {
    const program::Operand &operand = *op.operands()->Get((uint32_t)index);
    bool listed = list && (list == block.moments() || operand.offset() == 0);
    for (uint32_t buffer : *operand.buffers())
      listed = listed &&
               std::find(list->begin(), list->end(), buffer) != list->end();
    if (!listed)
      fail("%s: operand %d is not the block's %s", what.c_str(), index, name);
  };
  expect(operands.masterIn, block.master(), "master");
  expect(operands.masterOut, block.master(), "master");
  for (int i = 0; i < operands.momentCount; ++i)
    expect(operands.moments + i, block.moments(), "moments");
  if (operands.upload >= 0)
    expect(operands.upload, block.upload(), "upload");
  for (uint32_t member : members[op.block()]) {
    const program::Parameter &parameter = *table.parameters()->Get(member);
    uint64_t elements = 0;
    if (!countElements(parameter.shape(), elements))
      continue;
    auto reaches = [&](int operand, uint64_t offset, uint64_t bytes) {
      if (!fits(offset, bytes, operandBytes(op, (uint32_t)operand)))
        fail("%s: operand %d of %llu bytes does not hold '%s' at %llu",
             what.c_str(), operand,
             (unsigned long long)operandBytes(op, (uint32_t)operand),
             std::string(text(parameter.name())).c_str(),
             (unsigned long long)offset);
    };
    reaches(operands.masterIn, masterOffset(table, parameter), 4 * elements);
    reaches(operands.masterOut, masterOffset(table, parameter), 4 * elements);
    for (int i = 0; i < operands.momentCount; ++i)
      reaches(operands.moments + i, (uint64_t)parameter.state_offset(),
              4 * elements);
    if (operands.upload >= 0)
      reaches(operands.upload, parameter.member_offset(),
              elements * elementBytes(parameter.upload_type()));
    else if (parameter.upload_type() != program::ElementType::F32)
      fail("%s: '%s' is uploaded as %s, which nothing writes", what.c_str(),
           std::string(text(parameter.name())).c_str(),
           elementName(parameter.upload_type()));
    if (parameter.upload_type() == program::ElementType::F32 &&
        operands.upload >= 0 && text(table.optimizer()->symbol()).empty())
      fail("%s: the program has no kernel for '%s'", what.c_str(),
           std::string(text(parameter.name())).c_str());
  }
}

/// The runtime holds every update until the step's loss is known to be finite.
/// That must not close a circle: the loss must not need an update of its own
/// step. All other order goes forward in the list, by checkOp, and so must this
/// where devices update: once their streams are full, nothing else is issued.
void Verifier::checkOrder() {
  uint32_t count = sizeOf(table.ops());
  std::vector<bool> afterUpdate(count);
  bool lossComes = false;
  std::map<std::pair<int, int>, uint32_t> last;
  for (uint32_t i = 0; i < count; ++i) {
    const program::Op &op = *table.ops()->Get(i);
    std::pair<int, int> lane{(int)op.lane(), op.device()};
    bool after =
        op.kind() == OpKind::Optimizer || op.kind() == OpKind::UpdateScalars;
    if (auto before = last.find(lane); before != last.end())
      after |= afterUpdate[before->second];
    for (uint32_t w = 0; w < sizeOf(op.waits()); ++w)
      if (op.waits()->Get(w)->distance() == 0)
        after |= afterUpdate[op.waits()->Get(w)->op()];
    lossComes |= op.kind() == OpKind::Loss;
    if (op.kind() == OpKind::UpdateScalars && !lossComes)
      fail("%s is issued before the step's loss, which it waits for",
           opText(table, i).c_str());
    if (after && op.kind() == OpKind::Loss)
      fail("%s needs an update of its own step", opText(table, i).c_str());
    afterUpdate[i] = after;
    last[lane] = i;
  }
}
