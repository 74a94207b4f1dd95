//===- Device.h - Devices, lanes, events, buffers ---------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a kind of device implements: `host:N` here, `cuda:N` in a library loaded
// at run time (lib/Runtime/Plugin.h). A device has one arena, whose offsets the
// program fixes, and lanes: five, and two for optimizer state where the program
// uses them. A lane takes the tasks of one controller
// thread and runs them in that order; a task starts when its waits hold and
// signals its event when it is done. Nothing here allocates once the lanes run.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_DEVICE_H
#define RONDO_RUNTIME_DEVICE_H

#include "rondo/Runtime/Status.h"
#include "schema/program_generated.h"
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::runtime {

/// A counter that only grows: "this operation has completed `value`
/// iterations". One thread signals, any number wait.
///
/// An operation of iteration t + 1 may end before the same operation of
/// iteration t, because with rotation they run on different devices: one
/// counter for both would then claim too much. Two iterations are in flight at
/// most, so each parity has a counter of its own, and each of them only grows.
class Event {
public:
  /// `value`: iteration + 1. Every value is signalled once.
  void signal(uint32_t value);
  /// Sets everybody who waits, now or later, free: the watchdog's last resort.
  void release();
  bool reached(uint32_t value) const {
    return turn(value).load(std::memory_order_acquire) >= value;
  }
  /// The greater count, with kReleased added once released.
  uint32_t value() const {
    return std::max(counters[0].load(std::memory_order_acquire),
                    counters[1].load(std::memory_order_acquire));
  }
  void wait(uint32_t value) const;

  /// The word that devices watch: the event has reached `value` once the word
  /// has, as a 32-bit difference.
  const void *word(uint32_t value) const { return &turn(value); }

  /// What a kind of device left that orders its own tasks among each other
  /// without the host, for `value`; null: nothing. Belongs to the thread that
  /// issues for the device on which the event's task runs for `value`.
  void *native(uint32_t value) const {
    const Native &native = natives[value % 4];
    return native.value == value ? native.handle : nullptr;
  }
  void setNative(uint32_t value, void *handle) {
    natives[value % 4] = {handle, value};
  }

  /// Less than half of what the difference of two words can express.
  static constexpr uint32_t kReleased = 1u << 30;

private:
  struct Native {
    void *handle = nullptr;
    uint32_t value = 0;
  };

  const std::atomic<uint32_t> &turn(uint32_t value) const {
    return counters[value % 2];
  }

  std::atomic<uint32_t> counters[2] = {0, 0};
  /// Two iterations are in flight: when one is issued that takes a place again,
  /// all who could look for the last one's handle have been issued.
  Native natives[4];
};

/// Memory of one arena, in bytes.
struct Buffer {
  std::byte *data = nullptr;
  uint64_t bytes = 0;
};

/// When a task ran, ns since an arbitrary start (Session::now).
struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

/// Nanoseconds of the steady clock.
int64_t now();

/// All lanes, a device's, and those that every device has: the lanes for
/// optimizer state are there where a program uses them.
constexpr uint32_t kLanes = (uint32_t)program::Lane::StateDown + 1;
constexpr uint32_t kDeviceLanes = kLanes - 2;
constexpr uint32_t kAlwaysLanes = (uint32_t)program::Lane::Update;
inline bool isHostLane(program::Lane lane) {
  return lane == program::Lane::Update || lane == program::Lane::Staging;
}
/// A device's lanes are counted without the host's, which lie between.
inline program::Lane deviceLane(uint32_t index) {
  return (program::Lane)(index < kAlwaysLanes ? index : index + 2);
}
inline uint32_t deviceLaneIndex(program::Lane lane) {
  return (uint32_t)lane < kAlwaysLanes ? (uint32_t)lane : (uint32_t)lane - 2;
}

enum class TaskKind : uint8_t {
  Copy,   ///< arguments: source, target.
  Zero,   ///< arguments: target.
  Launch, ///< arguments: the entry's.
  Host,   ///< Runs `host`: on lanes of the host only.
  Round   ///< arguments: f32, rounded in place to bf16 in the first half.
};

struct TaskCall;

/// Runs an operation of the host itself. Called by the lane's thread.
using HostFunction = void (*)(void *context, const TaskCall &call);

/// What of an operation is the same in every iteration. Outlives the lanes it
/// is submitted to.
struct Task {
  struct Wait {
    const Event *event = nullptr;
    uint32_t distance = 0;
    uint32_t index = 0; ///< Which operation, for messages.
    /// The operation ran on this task's device: what the device left in the
    /// event may be used.
    bool sameDevice = false;
  };
  TaskKind kind = TaskKind::Host;
  uint32_t index = 0; ///< Which operation of the program.
  uint32_t entry = 0; ///< Launch.
  uint64_t bytes = 0; ///< Copy, Zero; Round: of the f32.
  std::vector<Wait> waits;
  Event *done = nullptr;
  HostFunction host = nullptr;
  void *context = nullptr;
  /// Host: it runs after a failure too. What devices do next depends on it, and
  /// it may be under way there already.
  bool always = false;
  /// Launch: called, before the signal, when call `number` of the entry's
  /// launch list met an index out of range.
  void (*failed)(void *context, const TaskCall &call,
                 uint32_t number) = nullptr;
  void *failedContext = nullptr;
  /// Called after the signal, with the iteration: for whoever counts
  /// completions.
  void (*completed)(void *context, uint32_t iteration) = nullptr;
  void *completedContext = nullptr;
};

/// A task in one iteration. `iteration` waits for (event, distance) until event
/// >= iteration - distance + 1 and signals iteration + 1.
struct TaskCall {
  const Task *task = nullptr;
  uint32_t iteration = 0;
  std::byte *const *arguments =
      nullptr;          ///< Stay as they are until the task is done.
  Span *span = nullptr; ///< Filled in if not null.
};

/// What a lane does right now, for the watchdog.
struct LaneState {
  int64_t task = -1; ///< Index of the task at the lane's head; -1: idle.
  uint32_t iteration = 0;
  int64_t waitingFor =
      -1; ///< Index of the operation it waits for; -1: it runs.
  uint32_t waitingValue = 0;
};

class Lane {
public:
  virtual ~Lane() = default;
  /// From one thread at a time. Blocks only when more tasks than the lane's
  /// capacity are pending.
  virtual void submit(const TaskCall &call) = 0;
  virtual LaneState state() const = 0;
  /// Nanoseconds spent in tasks, and bytes copied, so far.
  virtual int64_t busy() const = 0;
  virtual uint64_t copied() const = 0;
};

/// Memory that a device holds, in bytes.
struct DeviceReport {
  std::string name;       ///< "NVIDIA H200"
  uint64_t arena = 0;     ///< What the plan asked for.
  uint64_t workspace = 0; ///< Of libraries, beside the arena.
  uint64_t other = 0;     ///< The most that was seen taken beside these: code,
                          ///< and the driver's own.
  /// `other` holds what the driver took for the context.
  bool contextCounted = true;
  uint64_t used = 0;  ///< Of it, by everybody, when asked. 0: not known.
  uint64_t total = 0; ///< The device has.
  /// What computes products, and how algorithms are chosen; empty: what the
  /// program says.
  std::string products;
  /// Canonical text of what, beside the program, decides the bits of results.
  std::string arithmetic;
  /// What kernels come from, if that can differ: "machine code for sm_90".
  std::string code;
  /// Launches of entries that were recorded, to be repeated as one.
  uint32_t graphs = 0;
  /// Pinned host memory that copies go through, and why: the system does not
  /// pin what they copy. 0: they go directly.
  uint64_t ring = 0;
  std::string ringReason;
};

/// What devices do with memory of the host's.
enum class HostUse {
  Copies, ///< Copy from and to it.
  Events  ///< Wait for events that lie in it.
};

class Device {
public:
  virtual ~Device() = default;
  virtual Buffer arena() = 0;
  virtual Lane &lane(program::Lane kind) = 0;
  /// Nanoseconds that a thread of the device's own has spent in issuing.
  virtual int64_t issueTime() const { return 0; }
  /// Lets the device use host memory: whole pages, which outlive the pool.
  /// Called on every device of a pool, before the first task that does. `what`:
  /// for errors.
  virtual Status share(Buffer memory, HostUse use, const std::string &what) {
    return Status::success();
  }
  virtual DeviceReport report() const = 0;
};

/// Debug: a lane sleeps up to `microseconds` before a task, drawn from `seed`,
/// the lane and the task's place.
struct Delays {
  uint64_t seed = 0;
  uint32_t microseconds = 0;
};

class Program;
class Executable;

/// What went wrong on a device, and at which of its tasks. The session says
/// which operation and node that is.
struct DeviceFailure {
  const Task *task = nullptr; ///< Null: no one task's fault.
  uint32_t iteration = 0;     ///< The task's.
  Status status;              ///< Begins with the device's name.
};

struct DeviceOptions {
  Delays delays;
  /// Tasks of one lane that may be pending, by program::Lane.
  uint32_t capacity[kLanes] = {};
  /// Tasks of this iteration or later are not run, only signalled.
  const std::atomic<uint32_t> *stop = nullptr;
  /// Where algorithms of products are kept, and whether to time them again; see
  /// SessionOptions.
  std::string tuneFile;
  bool retune = false;
  /// Called when a device has failed, with an iteration that is lost with it:
  /// from any thread, perhaps several times. Whatever is or will be submitted
  /// is signalled then, not run.
  void (*error)(void *context, const DeviceFailure &failure,
                uint32_t lost) = nullptr;
  void *errorContext = nullptr;
};

/// The pool that a specification names: "host:4". `count` devices whose kernels
/// come from `executable`.
Status parseDeviceSpec(const std::string &spec, std::string &kind,
                       uint32_t &count);
Status openDevices(const std::string &spec, const Program &program,
                   const Executable &executable, const DeviceOptions &options,
                   std::vector<std::unique_ptr<Device>> &devices);
/// One line a kind of device that this machine has.
std::string listDevices();

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_DEVICE_H
