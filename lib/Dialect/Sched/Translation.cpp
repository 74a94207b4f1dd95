//===- Translation.cpp - sched IR to and from the planner's Schedule ------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Sched/Translation.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace rondo;
using namespace rondo::sched;

//===----------------------------------------------------------------------===//
// IR to Schedule
//===----------------------------------------------------------------------===//

namespace {

/// Reads one program.
class Reader {
public:
  explicit Reader(ProgramOp program) : program(program) {}

  FailureOr<scheduling::Schedule> read() {
    schedule.name = program.getSymName().str();
    schedule.devices = program.getDevices();
    schedule.rotation = program.getRotation();
    schedule.period = program.getPeriod();
    for (auto [i, bytes] :
         llvm::enumerate(program.getArenaBytes().take_front(3)))
      schedule.arenaBytes[i] = bytes;
    Block &body = program.getBody().front();
    for (Operation &op : body) {
      if (auto buffer = dyn_cast<BufferOp>(op))
        readBuffer(buffer);
      else if (auto timed = dyn_cast<TimedOp>(op)) {
        numbers[timed] = schedule.ops.size();
        schedule.ops.push_back({});
      }
    }
    if (failed(readCarried()))
      return failure();
    size_t number = 0;
    for (Operation &op : body)
      if (auto timed = dyn_cast<TimedOp>(op))
        if (failed(readOp(timed, schedule.ops[number++])))
          return failure();
    return std::move(schedule);
  }

private:
  void readBuffer(BufferOp op) {
    scheduling::Buffer buffer;
    buffer.name = op.getLabel().str();
    buffer.space = (scheduling::Space)op.getResult().getType().getSpace();
    buffer.bytes = op.getResult().getType().getBytes();
    buffer.computeOnly = op.getSlot().has_value();
    buffer.slot = op.getSlot() ? (int32_t)*op.getSlot() : -1;
    buffer.offset = op.getOffset() ? (int64_t)*op.getOffset() : -1;
    buffers[op.getResult()] = schedule.buffers.size();
    schedule.buffers.push_back(std::move(buffer));
  }

  /// Resolves every block argument to (operation, distance).
  LogicalResult readCarried() {
    Block &body = program.getBody().front();
    auto next = cast<NextOp>(body.back());
    for (BlockArgument argument : body.getArguments()) {
      Value value = next.getEvents()[argument.getArgNumber()];
      unsigned distance = 1;
      while (auto earlier = dyn_cast<BlockArgument>(value)) {
        if (++distance > body.getNumArguments() + 1)
          return next.emitOpError()
                 << "passes block argument #" << argument.getArgNumber()
                 << " round in a circle: it is no operation's event";
        value = next.getEvents()[earlier.getArgNumber()];
      }
      // The program's verifier lets timed operations alone make events.
      carried.push_back({numbers.lookup(value.getDefiningOp()), distance});
    }
    return success();
  }

  scheduling::Operand readOperand(Value value) {
    scheduling::Operand operand;
    operand.bytes = cast<BufferType>(value.getType()).getBytes();
    while (auto view = value.getDefiningOp<ViewOp>()) {
      operand.offset += view.getByteOffset();
      value = view.getBuffer();
    }
    if (auto rotate = value.getDefiningOp<RotateOp>()) {
      operand.phase = rotate.getPhase();
      for (Value buffer : rotate.getBuffers())
        operand.buffers.push_back(buffers.lookup(buffer));
    } else {
      operand.buffers.push_back(buffers.lookup(value));
    }
    return operand;
  }

  LogicalResult readOp(TimedOp timed, scheduling::Op &op) {
    op.lane = (scheduling::LaneKind)timed.getLane();
    op.device = timed.getDevice();
    TagAttr tag = timed.getTagAttr();
    op.layer = tag.getLayer(), op.slot = tag.getSlot(),
    op.round = tag.getRound();
    op.microBatch = tag.getMicroBatch(), op.block = tag.getBlock(),
    op.input = tag.getInput();
    for (auto [value, access] :
         llvm::zip(timed.getTouched(), timed.getAccesses())) {
      op.operands.push_back(readOperand(value));
      op.operands.back().access = (scheduling::Access)access;
    }
    for (Value event : timed.getWaits()) {
      if (auto argument = dyn_cast<BlockArgument>(event)) {
        op.waits.push_back(carried[argument.getArgNumber()]);
        continue;
      }
      op.waits.push_back({numbers.lookup(event.getDefiningOp()), 0});
    }
    if (auto copy = dyn_cast<UploadOp>(*timed))
      op.kind = scheduling::OpKind::Upload, op.name = copy.getLabel().str(),
      op.priority = copy.getPriority(),
      op.duration = copy.getDuration().convertToDouble();
    else if (auto copy = dyn_cast<DownloadOp>(*timed))
      op.kind = scheduling::OpKind::Download, op.name = copy.getLabel().str(),
      op.priority = copy.getPriority(),
      op.duration = copy.getDuration().convertToDouble();
    else if (auto launch = dyn_cast<LaunchOp>(*timed))
      op.kind = scheduling::OpKind::Launch, op.name = launch.getLabel().str(),
      op.entry = entryName(launch.getEntry()),
      op.duration = launch.getDuration().convertToDouble();
    else if (auto update = dyn_cast<DeviceUpdateOp>(*timed))
      op.kind = scheduling::OpKind::DeviceUpdate,
      op.name = update.getLabel().str(), op.piece = (uint64_t)update.getPiece(),
      op.duration = update.getDuration().convertToDouble();
    else if (auto zero = dyn_cast<ZeroOp>(*timed))
      op.kind = scheduling::OpKind::Zero, op.name = zero.getLabel().str(),
      op.duration = zero.getDuration().convertToDouble();
    else if (auto round = dyn_cast<RoundOp>(*timed))
      op.kind = scheduling::OpKind::Round, op.name = round.getLabel().str(),
      op.duration = round.getDuration().convertToDouble();
    else if (auto host = dyn_cast<HostLaunchOp>(*timed)) {
      op.kind = (scheduling::OpKind)host.getAction();
      op.name = host.getLabel().str(), op.first = host.getFirst(),
      op.duration = host.getDuration().convertToDouble();
      if (host.getEntry())
        op.entry = entryName(*host.getEntry());
    }
    return success();
  }

  static std::string entryName(SymbolRefAttr entry) {
    std::string name = entry.getRootReference().str();
    for (FlatSymbolRefAttr nested : entry.getNestedReferences())
      name += "::" + nested.getValue().str();
    return name;
  }

  ProgramOp program;
  scheduling::Schedule schedule;
  DenseMap<Value, uint32_t> buffers;
  DenseMap<Operation *, uint32_t> numbers;
  SmallVector<scheduling::Wait> carried;
};

//===----------------------------------------------------------------------===//
// Schedule to IR
//===----------------------------------------------------------------------===//

/// Writes the body of one program.
class Writer {
public:
  Writer(OpBuilder &builder, ProgramOp program,
         const scheduling::Schedule &schedule)
      : builder(builder), program(program), schedule(schedule),
        loc(program.getLoc()) {}

  void write(llvm::function_ref<Location(const scheduling::Op &)> locate) {
    OpBuilder::InsertionGuard guard(builder);
    Block &body = program.getBody().front();
    builder.setInsertionPointToEnd(&body);
    addCarried(body);
    for (const scheduling::Buffer &buffer : schedule.buffers)
      writeBuffer(buffer);
    for (const scheduling::Op &op : schedule.ops)
      events.push_back(writeOp(op, locate(op)));
    SmallVector<Value> passed;
    for (auto &[key, argument] : carried)
      passed.push_back(key.second == 1 ? events[key.first]
                                       : carried[{key.first, key.second - 1}]);
    NextOp::create(builder, loc, passed);
  }

private:
  /// One block argument for every (operation, distance) waited for and every
  /// shorter distance on its way.
  void addCarried(Block &body) {
    for (const scheduling::Op &op : schedule.ops)
      for (const scheduling::Wait &wait : op.waits)
        for (uint32_t d = 1; d <= wait.distance; ++d)
          carried[{wait.op, d}] = Value();
    for (auto &[key, argument] : carried)
      argument = body.addArgument(EventType::get(builder.getContext()), loc);
  }

  void writeBuffer(const scheduling::Buffer &buffer) {
    auto type = BufferType::get(builder.getContext(), buffer.bytes,
                                (Space)buffer.space);
    IntegerAttr slot, offset;
    if (buffer.computeOnly)
      slot = builder.getI32IntegerAttr(buffer.slot);
    if (buffer.offset >= 0)
      offset = builder.getI64IntegerAttr(buffer.offset);
    buffers.push_back(BufferOp::create(
        builder, loc, type, builder.getStringAttr(buffer.name), slot, offset));
  }

  Value writeOperand(const scheduling::Operand &operand) {
    auto key = std::make_tuple(operand.buffers, operand.phase, operand.offset,
                               operand.bytes);
    Value &value = operands[key];
    if (value)
      return value;
    value = buffers[operand.buffers.front()];
    if (operand.buffers.size() > 1) {
      Value &rotated = rotates[{operand.buffers, operand.phase}];
      if (!rotated) {
        SmallVector<Value> all;
        for (uint32_t buffer : operand.buffers)
          all.push_back(buffers[buffer]);
        rotated = RotateOp::create(builder, loc, value.getType(), all,
                                   (int32_t)operand.phase);
      }
      value = rotated;
    }
    auto type = cast<BufferType>(value.getType());
    if (operand.offset != 0 || operand.bytes != type.getBytes())
      value = ViewOp::create(
          builder, loc,
          BufferType::get(builder.getContext(), operand.bytes, type.getSpace()),
          value, (int64_t)operand.offset);
    return value;
  }

  Value writeOp(const scheduling::Op &op, Location at) {
    SmallVector<Value> touched, waits;
    SmallVector<int32_t> access;
    for (const scheduling::Operand &operand : op.operands) {
      touched.push_back(writeOperand(operand));
      access.push_back((int32_t)operand.access);
    }
    for (const scheduling::Wait &wait : op.waits)
      waits.push_back(wait.distance == 0 ? events[wait.op]
                                         : carried[{wait.op, wait.distance}]);
    MLIRContext *context = builder.getContext();
    auto tag = TagAttr::get(context, op.layer, op.slot, op.round, op.microBatch,
                            op.block, op.input);
    auto label = builder.getStringAttr(op.name);
    auto duration = builder.getF64FloatAttr(op.duration);
    auto event = EventType::get(context);
    auto lane = LaneAttr::get(context, (Lane)op.lane);
    auto device = builder.getI32IntegerAttr(op.device);
    auto priority = builder.getI32IntegerAttr(op.priority);
    switch (op.kind) {
    case scheduling::OpKind::Upload:
      return UploadOp::create(builder, at, event, touched[0], touched[1], lane,
                              device, waits, label, priority, duration, tag);
    case scheduling::OpKind::Download:
    case scheduling::OpKind::PeerCopy: // No plan makes peer copies yet:
                                       // TransferProblem never emits them.
      return DownloadOp::create(builder, at, event, touched[0], touched[1],
                                lane, device, waits, label, priority, duration,
                                tag);
    case scheduling::OpKind::Launch:
      return LaunchOp::create(builder, at, event, entryRef(op.entry), touched,
                              builder.getDenseI32ArrayAttr(access), device,
                              waits, label, duration, tag);
    case scheduling::OpKind::DeviceUpdate:
      return DeviceUpdateOp::create(
          builder, at, event, builder.getI64IntegerAttr((int64_t)op.piece),
          touched, builder.getDenseI32ArrayAttr(access), device, waits, label,
          duration, tag);
    case scheduling::OpKind::Zero:
      return ZeroOp::create(builder, at, event, touched[0], device, waits,
                            label, duration, tag);
    case scheduling::OpKind::Round:
      return RoundOp::create(builder, at, event, touched[0], device, waits,
                             label, duration, tag);
    default:
      return HostLaunchOp::create(
          builder, at, event, HostActionAttr::get(context, (HostAction)op.kind),
          op.entry.empty() ? SymbolRefAttr() : entryRef(op.entry), touched,
          builder.getDenseI32ArrayAttr(access), lane, waits, label,
          op.first ? builder.getUnitAttr() : UnitAttr(), duration, tag);
    }
  }

  SymbolRefAttr entryRef(StringRef name) {
    auto [body, entry] = name.split("::");
    MLIRContext *context = builder.getContext();
    return SymbolRefAttr::get(context, body,
                              {FlatSymbolRefAttr::get(context, entry)});
  }

  OpBuilder &builder;
  ProgramOp program;
  const scheduling::Schedule &schedule;
  Location loc;
  SmallVector<Value> buffers, events;
  std::map<std::pair<uint32_t, uint32_t>, Value> carried;
  std::map<std::pair<std::vector<uint32_t>, uint32_t>, Value> rotates;
  std::map<std::tuple<std::vector<uint32_t>, uint32_t, uint64_t, uint64_t>,
           Value>
      operands;
};

} // namespace

FailureOr<scheduling::Schedule> sched::readSchedule(ProgramOp program) {
  return Reader(program).read();
}

ProgramOp sched::writeSchedule(
    OpBuilder &builder, Location loc, StringRef name, FlatSymbolRefAttr plan,
    const scheduling::Schedule &schedule,
    llvm::function_ref<Location(const scheduling::Op &)> locate) {
  SmallVector<int64_t> arenas;
  if (schedule.arenaBytes[0] || schedule.arenaBytes[1] ||
      schedule.arenaBytes[2])
    arenas.assign(schedule.arenaBytes, schedule.arenaBytes + 3);
  auto program =
      ProgramOp::create(builder, loc, builder.getStringAttr(name), plan,
                        builder.getI32IntegerAttr(schedule.devices),
                        builder.getI32IntegerAttr(schedule.rotation),
                        builder.getI32IntegerAttr(schedule.period),
                        builder.getDenseI64ArrayAttr(arenas));
  program.getBody().emplaceBlock();
  Writer(builder, program, schedule).write(locate);
  return program;
}

void sched::rewriteSchedule(ProgramOp program,
                            const scheduling::Schedule &schedule) {
  SmallVector<Location> locations;
  for (Operation &op : program.getBody().front())
    if (isa<TimedOp>(op))
      locations.push_back(op.getLoc());
  OpBuilder builder(program);
  writeSchedule(builder, program.getLoc(), program.getSymName(),
                program.getPlanAttr(), schedule, [&](const scheduling::Op &op) {
                  return locations[&op - schedule.ops.data()];
                });
  program.erase();
}

LogicalResult sched::report(Location loc, const scheduling::Outcome &outcome) {
  for (const std::string &message : outcome.messages) {
    if (outcome)
      emitRemark(loc) << message;
    else
      emitError(loc) << (outcome.infeasible ? "infeasible: " : "") << message;
  }
  return success(outcome.ok);
}
