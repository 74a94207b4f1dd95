//===- Session.cpp - A program in training --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <pthread.h>

using namespace rondo;
using namespace rondo::runtime;
using program::OpKind;

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

Session::Impl::Impl(const Program &program, const SessionOptions &options)
    : program(program), table(program.table()), options(options),
      inputs(program), tasks(sizeOf(table.ops())) {}

/// Most tasks of two iterations on one lane of each kind, whichever device
/// plays whom.
void Session::Impl::planCapacity(uint32_t (&capacity)[kLanes]) const {
  std::vector<uint32_t> counts(kLanes * (size_t)table.devices());
  for (uint32_t i = 0; i < sizeOf(table.ops()); ++i) {
    const program::Op &op = *table.ops()->Get(i);
    size_t device = op.device() < 0 ? 0 : (size_t)op.device();
    uint32_t count = ++counts[(size_t)op.lane() * table.devices() + device];
    uint32_t &most = capacity[(size_t)op.lane()];
    most = std::max(most, 2 * count);
  }
}

void Session::Impl::buildTasks() {
  uint32_t count = sizeOf(table.ops()), arguments = 0;
  operations.resize(count);
  firstArgument.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    const program::Op &op = *table.ops()->Get(i);
    if (op.kind() == OpKind::Loss)
      lossOp = i;
    firstArgument[i] = arguments;
    arguments += sizeOf(op.operands());
  }
  for (Slot &slot : slots)
    slot.arguments.resize(arguments);
  for (uint32_t i = 0; i < count; ++i) {
    const program::Op &op = *table.ops()->Get(i);
    Task &task = tasks[i];
    operations[i] = {&*ops, i};
    task.index = i;
    task.done = &events[i];
    task.completed = completed;
    task.completedContext = this;
    switch (op.kind()) {
    case OpKind::Upload:
    case OpKind::Download:
    case OpKind::PeerCopy:
      task.kind = TaskKind::Copy;
      task.bytes = op.operands()->Get(0)->bytes();
      break;
    case OpKind::Zero:
      task.kind = TaskKind::Zero;
      task.bytes = op.operands()->Get(0)->bytes();
      break;
    case OpKind::Round:
      task.kind = TaskKind::Round;
      task.bytes = op.operands()->Get(0)->bytes();
      break;
    case OpKind::Launch:
    case OpKind::DeviceUpdate:
      task.kind = TaskKind::Launch;
      task.entry = (uint32_t)op.entry();
      task.failed = HostOps::launchFailed;
      task.failedContext = &operations[i];
      break;
    default:
      task.kind = TaskKind::Host;
      task.host = HostOps::run;
      task.context = &operations[i];
      task.always = op.kind() == OpKind::UpdateScalars;
      break;
    }
    for (uint32_t w = 0; w < sizeOf(op.waits()); ++w) {
      const program::Wait &wait = *op.waits()->Get(w);
      const program::Op &other = *table.ops()->Get(wait.op());
      // Devices take turns by `rotation` from iteration to iteration.
      bool sameDevice =
          op.device() >= 0 && other.device() >= 0 &&
          physical(op.device(), wait.distance()) == physical(other.device(), 0);
      task.waits.push_back(
          {&events[wait.op()], wait.distance(), wait.op(), sameDevice});
    }
    // No update before the step's loss is known to be finite: the state stays
    // that of a whole number of steps.
    if (op.kind() == OpKind::Optimizer || op.kind() == OpKind::UpdateScalars)
      task.waits.push_back({&events[lossOp], 0, lossOp});
  }
}

/// In memory of their own, which devices watch.
Status Session::Impl::allocateEvents() {
  constexpr uint64_t page = 4096;
  uint64_t count = sizeOf(table.ops()),
           bytes = (count * sizeof(Event) + page - 1) / page * page;
  if (Status status = eventMemory.allocate(bytes, "events"); !status.ok())
    return status;
  auto *first = reinterpret_cast<Event *>(eventMemory.buffer().data);
  std::uninitialized_default_construct_n(first, count);
  events = {first, count};
  return Status::success();
}

/// Pages lie where they are first touched, so the workers do it that will use
/// them, each its share of every buffer; and registering or loading then finds
/// them there, instead of making them one after the other.
void Session::Impl::touchHostMemory() {
  constexpr uint64_t kPage = 4096, kPiece = 2u << 20;
  struct Range {
    std::byte *data;
    uint64_t bytes;
  };
  for (uint32_t i = 0; i < sizeOf(table.buffers()); ++i) {
    const program::Buffer &buffer = *table.buffers()->Get(i);
    if (buffer.space() == program::Space::Device)
      continue;
    const Arena &arena =
        buffer.space() == program::Space::Pinned ? pinned : host;
    Range range{arena.buffer().data + buffer.offset(), buffer.bytes()};
    workers->runAtHome(
        (range.bytes + kPiece - 1) / kPiece,
        [](void *context, uint64_t piece) {
          const Range &range = *static_cast<Range *>(context);
          uint64_t end = std::min(range.bytes, (piece + 1) * kPiece);
          for (uint64_t at = piece * kPiece; at < end; at += kPage)
            range.data[at] = std::byte(0);
        },
        &range);
  }
}

void Session::Impl::deviceFailed(void *context, const DeviceFailure &failure,
                                 uint32_t lost) {
  auto &self = *static_cast<Impl *>(context);
  std::string where =
      failure.task ? format("step %u: %s: ", failure.iteration,
                            opText(self.table, failure.task->index).c_str())
                   : "";
  self.failure.report(
      lost, Status(failure.status.code(), where + failure.status.message()));
}

Status Session::Impl::open() {
  std::string kind;
  uint32_t count = 0;
  bool forGpus = sizeOf(table.device_code()) != 0;
  if (options.device.empty())
    options.device =
        format("%s:%u", forGpus ? "cuda" : "host", table.devices());
  // What the flags alone decide comes before the work of loading.
  if (Status status = parseDeviceSpec(options.device, kind, count);
      !status.ok())
    return status;
  std::string_view target = text(table.target());
  if (kind == "host" && !forGpus && !target.empty() &&
      target.rfind("host", 0) != 0)
    return flagsError(
        program.path() + ": was compiled for '" + std::string(target) +
        "', not for the host; compile it again with --target=host");
  if (kind == "cuda" && !forGpus)
    return flagsError(program.path() + ": was compiled for '" +
                      std::string(target) +
                      "' and holds no code for GPUs; compile it again with "
                      "--target=h200 or what your GPU is, or run it with " +
                      format("--device=host:%u", table.devices()));
  if (kind == "host" && !options.tuneFile.empty())
    return flagsError("--tune=" + options.tuneFile +
                      ": products on the host leave nothing to choose; it is "
                      "for --device=cuda:N");
  if (Status status = Executable::create(program, executable); !status.ok())
    return status;
  if (Status status = pinned.allocate(table.pinned_bytes(), "pinned memory");
      !status.ok())
    return status;
  if (Status status = host.allocate(table.host_bytes(), "host memory");
      !status.ok())
    return status;
  DeviceOptions deviceOptions;
  deviceOptions.delays = options.delays;
  deviceOptions.tuneFile = options.tuneFile;
  deviceOptions.retune = options.retune;
  deviceOptions.stop = &failure.stop;
  deviceOptions.error = deviceFailed;
  deviceOptions.errorContext = this;
  planCapacity(deviceOptions.capacity);
  if (Status status = openDevices(options.device, program, *executable,
                                  deviceOptions, devices);
      !status.ok())
    return status;
  std::vector<Processor> processors = usableProcessors();
  // Several GPUs have two threads each.
  uint32_t issuing = kind == "host" ? count : 2 * count - 1;
  uint32_t threads = options.hostThreads
                         ? options.hostThreads
                         : defaultHostThreads(processors.size(), issuing);
  workers.emplace(std::min(threads, 1024u), processors);
  touchHostMemory();
  if (Status status = allocateEvents(); !status.ok())
    return status;
  for (std::unique_ptr<Device> &device : devices) {
    if (Status status =
            device->share(eventMemory.buffer(), HostUse::Events, "events");
        !status.ok())
      return status;
    if (Status status = device->share(pinned.buffer(), HostUse::Copies,
                                      "the pinned memory");
        !status.ok())
      return status;
    if (options.decorate)
      device = options.decorate(std::move(device), deviceOptions);
  }
  parameters.emplace(program, pinned.buffer(), host.buffer(), *workers);
  if (Status status =
          parameters->load({options.weights, options.weightsPrefix});
      !status.ok())
    return status;
  ops.emplace(program, *executable, *parameters, inputs, *workers, failure);
  ops->readsDevices = kind == "host";
  buildTasks();
  // Salts beyond those of the devices' lanes.
  uint64_t salt = (uint64_t)table.devices() * 8;
  updateLane = std::make_unique<HostLane>(
      "Update", nullptr, deviceOptions.capacity[(size_t)program::Lane::Update],
      options.delays, salt, &failure.stop);
  stagingLane = std::make_unique<HostLane>(
      "Staging", nullptr,
      deviceOptions.capacity[(size_t)program::Lane::Staging], options.delays,
      salt + 1, &failure.stop);
  controller = std::thread([this] { control(); });
  if (options.watchdogSeconds == 0) {
    const program::Prediction *predicted = table.prediction();
    options.watchdogSeconds = std::max(
        kWatchdogSeconds, predicted ? 10 * predicted->iteration_ns() / 1e9 : 0);
  }
  if (options.watchdogSeconds > 0) {
    watchdog = std::thread([this] { watch(); });
    pthread_setname_np(watchdog.native_handle(), "Watchdog");
  }
  return Status::success();
}

Session::Impl::~Impl() {
  closing.store(true, std::memory_order_release);
  if (controller.joinable()) {
    // The controller sleeps on `target`; it knows by `closing` that this is no
    // step.
    target.fetch_add(1, std::memory_order_release);
    target.notify_all();
    controller.join();
  }
  if (watchdog.joinable()) {
    {
      std::lock_guard<std::mutex> lock(watchdogMutex);
      watchdogWake.notify_all();
    }
    watchdog.join();
  }
}

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}

Session::~Session() {
  if (!impl || !impl->stuck.load(std::memory_order_acquire))
    return;
  // A lane that hangs in a kernel can neither be ended nor have its memory
  // taken away. Perhaps it was only slow.
  for (int i = 0; i < 200; ++i) {
    if (impl->progress.load(std::memory_order_acquire) ==
        (uint64_t)impl->issued.load(std::memory_order_acquire) *
            impl->tasks.size())
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  (void)impl.release();
}

Status Session::checkOptions(const SessionOptions &options) {
  if (options.hostThreads > 1024)
    return flagsError(format("--host-threads=%u: is not between 1 and 1024",
                             options.hostThreads));
  if (!std::isfinite(options.watchdogSeconds))
    return flagsError(
        format("--watchdog=%g: is not a time", options.watchdogSeconds));
  if (!options.weightsPrefix.empty() &&
      !WeightsSource{options.weights, ""}.isFiles())
    return flagsError("--weights-prefix: there are no files of --weights that "
                      "it is for");
  return Status::success();
}

Status Session::open(const Program &program, const SessionOptions &options,
                     std::unique_ptr<Session> &session) {
  if (Status status = checkOptions(options); !status.ok())
    return status;
  std::unique_ptr<Session> result(
      new Session(std::make_unique<Impl>(program, options)));
  Impl &impl = *result->impl;
  if (Status status = impl.open(); !status.ok())
    return status;
  if (Status status =
          result->setLearningRate(options.learningRate, options.totalSteps);
      !status.ok())
    return status;
  session = std::move(result);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Status Session::setInputFile(const std::string &name, const std::string &path) {
  if (Status status = synchronize(); !status.ok())
    return status;
  return impl->inputs.bindFile(name, path, (uint32_t)startedSteps());
}

Status Session::setInput(const std::string &name, program::ElementType type,
                         std::span<const int64_t> shape, const void *data) {
  if (Status status = synchronize(); !status.ok())
    return status;
  return impl->inputs.bindMemory(name, type, shape, data,
                                 (uint32_t)startedSteps());
}

Status Session::setOrder(bool shuffle, uint64_t seed, uint32_t epochs) {
  if (startedSteps() != 0)
    return userError("the order of samples is set before the first step");
  return impl->inputs.setOrder(shuffle, seed, epochs);
}

Status Session::setLearningRate(const std::string &schedule,
                                uint64_t totalSteps) {
  if (Status status = synchronize(); !status.ok())
    return status;
  LearningRate rate;
  rate.base =
      impl->table.optimizer() ? impl->table.optimizer()->learning_rate() : 0;
  rate.total = totalSteps;
  if (Status status = rate.parse(schedule.empty() ? "constant" : schedule);
      !status.ok())
    return status;
  impl->ops->learningRate = rate;
  return Status::success();
}

Status Session::stepsAvailable(uint64_t &steps) const {
  return impl->inputs.available((uint32_t)startedSteps(), steps);
}

uint64_t Session::stepsPerEpoch() const { return impl->inputs.stepsPerEpoch(); }

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

uint64_t Session::startedSteps() const {
  return impl->target.load(std::memory_order_acquire);
}

Status Session::start(uint64_t steps, bool captureGradients) {
  if (steps == 0)
    return Status::success();
  if (impl->failure.failed())
    return impl->failure.statusOf(UINT64_MAX);
  uint64_t available = 0, first = startedSteps();
  if (Status status = stepsAvailable(available); !status.ok())
    return status;
  if (steps > available)
    return userError(format(
        "%llu steps of %llu samples need more than the inputs hold: they are "
        "enough for %llu%s; "
        "give fewer --steps, more samples, or --epochs to visit them again",
        (unsigned long long)steps,
        (unsigned long long)impl->inputs.samplesPerStep(),
        (unsigned long long)available, first ? " more" : ""));
  if (first + steps >= Failure::kNever)
    return flagsError("a session runs at most 1073741823 steps");
  auto batch = std::make_unique<Impl::Batch>();
  batch->first = first;
  batch->count = steps;
  batch->results.resize(steps);
  batch->begins.resize(steps);
  for (uint64_t i = 0; i < steps; ++i) {
    batch->results[i].step = first + i;
    batch->results[i].loss = std::numeric_limits<double>::quiet_NaN();
  }
  if (impl->options.trace)
    batch->spans.resize(steps * impl->tasks.size());
  if (captureGradients) {
    // The buffers are made while nothing runs, and keep one step's gradients.
    uint64_t captured = impl->ops->captureStep.load(std::memory_order_relaxed);
    Status status =
        captured == UINT64_MAX ? synchronize() : impl->waitIteration(captured);
    if (!status.ok())
      return status;
    if (captured == UINT64_MAX)
      impl->parameters->enableGradients();
    impl->ops->captureStep.store(first + steps - 1, std::memory_order_relaxed);
  }
  Impl::Batch *last =
      impl->batches.empty() ? &impl->sentinel : impl->batches.back().get();
  last->next.store(batch.get(), std::memory_order_release);
  impl->batches.push_back(std::move(batch));
  impl->target.store((uint32_t)(first + steps), std::memory_order_release);
  impl->target.notify_all();
  return Status::success();
}

const Session::Impl::Batch *Session::Impl::batchOf(uint64_t step) const {
  auto after = std::upper_bound(
      batches.begin(), batches.end(), step,
      [](uint64_t step, const auto &batch) { return step < batch->first; });
  return (after - 1)->get();
}

static Status notStarted(uint64_t step) {
  return flagsError(
      format("step %llu has not been started", (unsigned long long)step));
}

Status Session::waitLoss(uint64_t step, double &loss) {
  if (step >= startedSteps())
    return notStarted(step);
  impl->events[impl->lossOp].wait((uint32_t)step + 1);
  if (Status status = impl->failure.statusOf(step); !status.ok())
    return status;
  const Impl::Batch *batch = impl->batchOf(step);
  loss = batch->results[step - batch->first].loss;
  return Status::success();
}

Status Session::waitStep(uint64_t step, StepResult &result) {
  if (step >= startedSteps())
    return notStarted(step);
  if (Status status = impl->waitIteration(step); !status.ok())
    return status;
  const Impl::Batch *batch = impl->batchOf(step);
  result = batch->results[step - batch->first];
  return Status::success();
}

Status Session::synchronize() {
  uint64_t started = startedSteps();
  Status first;
  // Of the two steps that may be in flight, either may end first; after an
  // error, too, nothing may run any more.
  for (uint64_t back = std::min<uint64_t>(started, 2); back > 0; --back)
    if (Status status = impl->waitIteration(started - back); first.ok())
      first = std::move(status);
  return first;
}

uint64_t Session::completedSteps() const {
  return std::min<uint64_t>(startedSteps(),
                            impl->failure.stop.load(std::memory_order_acquire));
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// Reading is possible after an error, too, as long as the state is that of a
/// whole number of steps.
static Status settle(Session &session, const Failure &failure) {
  Status status = session.synchronize();
  return failure.consistent() ? Status::success() : status;
}

static Status unknown(const std::string &name) {
  return userError("the program has no parameter '" + name + "'");
}

Status Session::readParameter(const std::string &name, uint32_t quantity,
                              std::span<float> values) {
  if (Status status = settle(*this, impl->failure); !status.ok())
    return status;
  int64_t index = impl->parameters->find(name);
  if (index < 0)
    return unknown(name);
  const program::Parameter &parameter =
      *impl->table.parameters()->Get((uint32_t)index);
  uint64_t elements = impl->parameters->elements((uint32_t)index);
  if (values.size() != elements)
    return flagsError(format("parameter '%s' has %llu elements, not %zu",
                             name.c_str(), (unsigned long long)elements,
                             values.size()));
  if (quantity > 3 || parameter.type() > program::ElementType::F64 ||
      (quantity != 0 && !parameter.trainable()))
    return userError("parameter '" + name + "' has no such quantity");
  auto what = (Quantity)quantity;
  if (what == Quantity::Gradient && !impl->parameters->gradientsCaptured())
    return userError(
        "no gradients were kept: start the step with keep_gradients");
  impl->parameters->read((uint32_t)index, what, completedSteps(),
                         values.data());
  return Status::success();
}

Status Session::writeParameter(const std::string &name, uint32_t quantity,
                               std::span<const float> values) {
  if (Status status = settle(*this, impl->failure); !status.ok())
    return status;
  int64_t index = impl->parameters->find(name);
  if (index < 0)
    return unknown(name);
  uint64_t elements = impl->parameters->elements((uint32_t)index);
  if (quantity > 3 || values.size() != elements)
    return flagsError(format("parameter '%s' has %llu elements, not %zu",
                             name.c_str(), (unsigned long long)elements,
                             values.size()));
  return impl->parameters->write((uint32_t)index, (Quantity)quantity,
                                 values.data());
}

Status Session::checkOutput(const std::string &path, bool isSave) const {
  if (Status status =
          impl->program.checkNotRead(path, impl->options.weights, isSave);
      !status.ok())
    return status;
  std::string input = impl->inputs.inputOfFile(path);
  return input.empty() ? Status::success()
                       : flagsError(path + ": is the file of input '" + input +
                                    "', which would be lost; name another "
                                    "file");
}

Status Session::save(const std::string &path, uint32_t quantity,
                     bool sourceNames) {
  if (Status status = checkOutput(path, quantity == 0); !status.ok())
    return status;
  if (Status status = settle(*this, impl->failure); !status.ok())
    return status;
  if (quantity > 3)
    return userError("there is no such quantity to save");
  if ((Quantity)quantity == Quantity::Gradient &&
      !impl->parameters->gradientsCaptured())
    return userError(
        "no gradients were kept: start the step with keep_gradients");
  return impl->parameters->save(path, (Quantity)quantity,
                                sourceNames ? Names::Source : Names::Onnx,
                                completedSteps());
}
