//===- SchedOps.cpp - Verifiers of the sched operations -------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Sched/Sched.h"

using namespace mlir;
using namespace rondo::sched;

#include "rondo/Dialect/Sched/SchedInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "rondo/Dialect/Sched/SchedOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Lanes, devices, accesses
//===----------------------------------------------------------------------===//

static SmallVector<int32_t> toVector(DenseI32ArrayAttr attr) {
  return SmallVector<int32_t>(attr.asArrayRef());
}

Lane UploadOp::getLane() { return getLaneKind(); }
int32_t UploadOp::getDevice() { return getOn(); }
OperandRange UploadOp::getTouched() {
  return getOperation()->getOperands().take_front(2);
}
SmallVector<int32_t> UploadOp::getAccesses() { return {1, 2}; }

Lane DownloadOp::getLane() { return getLaneKind(); }
int32_t DownloadOp::getDevice() { return getOn(); }
OperandRange DownloadOp::getTouched() {
  return getOperation()->getOperands().take_front(2);
}
SmallVector<int32_t> DownloadOp::getAccesses() { return {1, 2}; }

Lane LaunchOp::getLane() { return Lane::Compute; }
int32_t LaunchOp::getDevice() { return getOn(); }
OperandRange LaunchOp::getTouched() { return getBuffers(); }
SmallVector<int32_t> LaunchOp::getAccesses() {
  return toVector(getAccessAttr());
}

Lane ZeroOp::getLane() { return Lane::Compute; }
int32_t ZeroOp::getDevice() { return getOn(); }
OperandRange ZeroOp::getTouched() {
  return getOperation()->getOperands().take_front(1);
}
SmallVector<int32_t> ZeroOp::getAccesses() { return {2}; }

Lane RoundOp::getLane() { return Lane::Compute; }
int32_t RoundOp::getDevice() { return getOn(); }
OperandRange RoundOp::getTouched() {
  return getOperation()->getOperands().take_front(1);
}
SmallVector<int32_t> RoundOp::getAccesses() { return {3}; }

Lane DeviceUpdateOp::getLane() { return Lane::StateUp; }
int32_t DeviceUpdateOp::getDevice() { return getOn(); }
OperandRange DeviceUpdateOp::getTouched() { return getBuffers(); }
SmallVector<int32_t> DeviceUpdateOp::getAccesses() {
  return toVector(getAccessAttr());
}

Lane HostLaunchOp::getLane() { return getLaneKind(); }
int32_t HostLaunchOp::getDevice() { return -1; }
OperandRange HostLaunchOp::getTouched() { return getBuffers(); }
SmallVector<int32_t> HostLaunchOp::getAccesses() {
  return toVector(getAccessAttr());
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// Space of a buffer operand.
static Space spaceOf(Value value) {
  return cast<BufferType>(value.getType()).getSpace();
}

static LogicalResult verifyAccesses(Operation *op, ArrayRef<int32_t> access,
                                    size_t count) {
  if (access.size() != count)
    return op->emitOpError() << "has " << count << " buffers but "
                             << access.size() << " accesses";
  for (int32_t a : access)
    if (a < 1 || a > 3)
      return op->emitOpError()
             << "access " << a << " is not 1 (read), 2 (written) or 3 (both)";
  return success();
}

LogicalResult BufferOp::verify() {
  Space space = getResult().getType().getSpace();
  if (getResult().getType().getBytes() == 0)
    return emitOpError("has no bytes");
  if (getSlot() && space != Space::Device)
    return emitOpError("belongs to a slot but is not in device space");
  if (getOffset() && ((int64_t)*getOffset() < 0 || *getOffset() % 256 != 0))
    return emitOpError() << "offset " << *getOffset()
                         << " is not a multiple of 256";
  return success();
}

LogicalResult RotateOp::verify() {
  if (getBuffers().size() < 2)
    return emitOpError("takes two or more buffers in turn");
  if ((size_t)getPhase() >= getBuffers().size())
    return emitOpError() << "phase " << getPhase()
                         << " is not below the number of buffers, "
                         << getBuffers().size();
  for (Value buffer : getBuffers())
    if (!buffer.getDefiningOp<BufferOp>())
      return emitOpError("takes declared buffers only");
  return success();
}

LogicalResult ViewOp::verify() {
  auto source = getBuffer().getType(), result = getResult().getType();
  if (source.getSpace() != result.getSpace())
    return emitOpError("changes the memory space");
  if ((int64_t)getByteOffset() < 0 ||
      (uint64_t)getByteOffset() + result.getBytes() > source.getBytes())
    return emitOpError() << "bytes [" << getByteOffset() << ", "
                         << getByteOffset() + (int64_t)result.getBytes()
                         << ") are not inside the buffer's "
                         << source.getBytes();
  return success();
}

static LogicalResult verifyCopy(Operation *op, Value source, Value target,
                                Lane lane, bool up) {
  Space from = up ? Space::Pinned : Space::Device,
        to = up ? Space::Device : Space::Pinned;
  if (spaceOf(source) != from || spaceOf(target) != to)
    return op->emitOpError() << "goes from " << stringifySpace(from) << " to "
                             << stringifySpace(to) << ", not from "
                             << stringifySpace(spaceOf(source)) << " to "
                             << stringifySpace(spaceOf(target));
  bool right = up ? lane == Lane::ParameterUp || lane == Lane::ActivationUp ||
                        lane == Lane::StateUp
                  : lane == Lane::GradientDown ||
                        lane == Lane::ActivationDown || lane == Lane::StateDown;
  if (!right)
    return op->emitOpError() << "cannot run on lane " << stringifyLane(lane);
  uint64_t a = cast<BufferType>(source.getType()).getBytes(),
           b = cast<BufferType>(target.getType()).getBytes();
  if (a != b)
    return op->emitOpError() << "copies " << a << " bytes to " << b;
  return success();
}

LogicalResult UploadOp::verify() {
  return verifyCopy(*this, getSource(), getTarget(), getLaneKind(),
                    /*up=*/true);
}
LogicalResult DownloadOp::verify() {
  return verifyCopy(*this, getSource(), getTarget(), getLaneKind(),
                    /*up=*/false);
}

static LogicalResult verifyOnDevice(Operation *op, OperandRange buffers,
                                    ArrayRef<int32_t> access) {
  for (Value buffer : buffers)
    if (spaceOf(buffer) != Space::Device)
      return op->emitOpError() << "touches a buffer in "
                               << stringifySpace(spaceOf(buffer)) << " space";
  return verifyAccesses(op, access, buffers.size());
}

LogicalResult LaunchOp::verify() {
  return verifyOnDevice(*this, getBuffers(), getAccess());
}

LogicalResult DeviceUpdateOp::verify() {
  auto piece = (int64_t)getPiece();
  if (piece < 0 || piece % 256 != 0)
    return emitOpError() << "piece " << piece << " is not a multiple of 256";
  return verifyOnDevice(*this, getBuffers(), getAccess());
}

LogicalResult HostLaunchOp::verify() {
  if (getLaneKind() != Lane::Update && getLaneKind() != Lane::Staging)
    return emitOpError() << "cannot run on lane "
                         << stringifyLane(getLaneKind());
  if ((getAction() == HostAction::CountLabels) != getEntry().has_value())
    return emitOpError("names an entry exactly when it counts labels");
  if (getFirst() && getAction() != HostAction::Accumulate)
    return emitOpError("`first` is for accumulations");
  for (Value buffer : getBuffers())
    if (spaceOf(buffer) == Space::Device)
      return emitOpError("touches device memory");
  return verifyAccesses(*this, getAccess(), getBuffers().size());
}

LogicalResult ProgramOp::verifyRegions() {
  Block &body = getBody().front();
  auto next = cast<NextOp>(body.getTerminator());
  for (BlockArgument argument : body.getArguments())
    if (!isa<EventType>(argument.getType()))
      return emitOpError("has a block argument that is not an event");
  if (next.getEvents().size() != body.getNumArguments())
    return next.emitOpError()
           << "passes on " << next.getEvents().size()
           << " events, the program takes " << body.getNumArguments();
  if ((int32_t)getDevices() < 1 || (int32_t)getRotation() < 0 ||
      getRotation() >= getDevices() || (int32_t)getPeriod() < 1)
    return emitOpError() << "devices " << getDevices() << ", rotation "
                         << getRotation() << ", period " << getPeriod()
                         << " do not fit together";
  for (Operation &op : body) {
    if (auto timed = dyn_cast<TimedOp>(op)) {
      bool host =
          timed.getLane() == Lane::Update || timed.getLane() == Lane::Staging;
      if (!host &&
          (timed.getDevice() < 0 || timed.getDevice() >= (int32_t)getDevices()))
        return op.emitOpError() << "is on device " << timed.getDevice()
                                << " of " << getDevices();
    } else if (!isa<BufferOp, RotateOp, ViewOp, NextOp>(op)) {
      return op.emitOpError("does not belong in a sched.program");
    }
  }
  return success();
}
