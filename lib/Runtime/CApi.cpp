//===- CApi.cpp - The runtime's C interface -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo-c/runtime.h"
#include "rondo/Runtime/OutputFile.h"
#include "rondo/Runtime/Session.h"
#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>

using namespace rondo;
using namespace rondo::runtime;

struct rondo_error {
  Status status;
};

/// Shared, so that a caller may free a program before its sessions.
struct rondo_program {
  std::shared_ptr<Program> program;
};

struct rondo_session {
  std::shared_ptr<Program> program;
  std::unique_ptr<Session> session;
  SessionReport report;
};

/// For when there is no memory for an error.
static rondo_error outOfMemory{Status(Code::Device, "out of memory")};

static rondo_error *fail(Status status) {
  if (status.ok())
    return nullptr;
  auto *error = new (std::nothrow) rondo_error;
  if (!error)
    return &outOfMemory;
  error->status = std::move(status);
  return error;
}

/// Runs `body`, which returns a Status. The runtime throws nothing itself, but
/// the library below it may.
template <typename Body>
static rondo_error *guarded(Body body) {
  try {
    return fail(body());
  } catch (const std::bad_alloc &) {
    return fail(deviceError("out of memory"));
  } catch (const std::exception &exception) {
    return fail(internalError(exception.what()));
  }
}

namespace {

/// An argument that may not be NULL.
struct Argument {
  const char *name;
  const void *pointer;
};

} // namespace

/// Runs `body` if all arguments are there.
template <typename Body>
static rondo_error *guarded(std::initializer_list<Argument> arguments,
                            Body body) {
  return guarded([&]() -> Status {
    for (const Argument &argument : arguments)
      if (!argument.pointer)
        return flagsError(std::string("the argument '") + argument.name +
                          "' is NULL");
    return body();
  });
}

static Status noSize() {
  return flagsError("a structure without its size was given to the runtime "
                    "(see RONDO_INIT)");
}

static Status checkQuantity(rondo_quantity quantity) {
  return (unsigned)quantity <= RONDO_SECOND_MOMENT
             ? Status::success()
             : flagsError(format("there is no quantity %d", (int)quantity));
}

/// Copies as much of `source` as the caller's structure has room for.
template <typename T>
static Status give(const T &source, T *target) {
  if (!target || target->size < sizeof(size_t))
    return noSize();
  size_t size = std::min(target->size, sizeof(T));
  std::memcpy(reinterpret_cast<char *>(target) + sizeof(size_t),
              reinterpret_cast<const char *>(&source) + sizeof(size_t),
              size - sizeof(size_t));
  return Status::success();
}

/// FlatBuffers ends strings with a zero.
static const char *cString(const flatbuffers::String *string) {
  return string ? string->c_str() : "";
}

rondo_code rondo_error_code(const rondo_error *error) {
  return error ? (rondo_code)error->status.code() : RONDO_OK;
}

const char *rondo_error_message(const rondo_error *error) {
  return error ? error->status.message().c_str() : "";
}

void rondo_error_free(rondo_error *error) {
  if (error != &outOfMemory)
    delete error;
}

const char *rondo_runtime_version(void) { return RONDO_VERSION; }

const char *rondo_list_devices(void) {
  static const std::string devices = listDevices();
  return devices.c_str();
}

rondo_error *rondo_check_output_file(const char *path) {
  return guarded({{"path", path}}, [&] { return checkOutputFile(path); });
}

int rondo_same_file(const char *a, const char *b) {
  bool same = false;
  rondo_error_free(guarded({{"a", a}, {"b", b}}, [&] {
    same = sameFile(a, b);
    return Status::success();
  }));
  return same;
}

rondo_error *rondo_write_file(const char *path, const void *data,
                              size_t bytes) {
  return guarded({{"path", path}, {"data", bytes ? (const void *)data : ""}},
                 [&] {
                   return writeFile(path, [&](std::FILE *file) {
                     std::fwrite(data, 1, bytes, file);
                   });
                 });
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

rondo_error *rondo_program_load(const char *path, rondo_program **program) {
  return guarded({{"path", path}, {"program", program}}, [&]() -> Status {
    std::unique_ptr<Program> loaded;
    if (Status status = Program::load(path, loaded); !status.ok())
      return status;
    *program = new rondo_program{std::move(loaded)};
    return Status::success();
  });
}

void rondo_program_free(rondo_program *program) { delete program; }

rondo_error *rondo_program_get_info(const rondo_program *program,
                                    rondo_program_info *info) {
  return guarded({{"program", program}, {"info", info}}, [&]() -> Status {
    const program::Program &table = program->program->table();
    rondo_program_info result{};
    result.name = cString(table.name());
    result.source = cString(table.source());
    result.producer = cString(table.producer());
    result.target = cString(table.target());
    result.devices = table.devices();
    result.rotation = table.rotation();
    result.rounds = table.rounds();
    result.micro_batches = table.micro_batches();
    result.staleness = table.staleness();
    result.inputs = sizeOf(table.inputs());
    result.parameters = sizeOf(table.parameters());
    result.device_bytes = table.device_bytes();
    result.pinned_bytes = table.pinned_bytes();
    result.host_bytes = table.host_bytes();
    if (const program::Prediction *prediction = table.prediction()) {
      result.predicted_step_ns = prediction->iteration_ns();
      result.predicted_first_ns = prediction->first_ns();
      result.predicted_bubble = prediction->bubble();
      result.predicted_uploaded = prediction->uploaded();
      result.predicted_downloaded = prediction->downloaded();
    }
    result.plan = cString(table.plan());
    result.learning_rate =
        table.optimizer() ? table.optimizer()->learning_rate() : 0;
    return give(result, info);
  });
}

rondo_error *rondo_program_get_input(const rondo_program *program,
                                     uint32_t index, rondo_input_info *info) {
  return guarded({{"program", program}, {"info", info}}, [&]() -> Status {
    const auto *inputs = program->program->table().inputs();
    if (index >= sizeOf(inputs))
      return flagsError(format("input %u of %u", index, sizeOf(inputs)));
    const program::Input &input = *inputs->Get(index);
    rondo_input_info result{};
    result.name = cString(input.name());
    result.type = (rondo_element_type)input.type();
    result.rank = sizeOf(input.shape());
    result.shape = shapeOf(input.shape()).data();
    return give(result, info);
  });
}

rondo_error *rondo_program_get_parameter(const rondo_program *program,
                                         uint32_t index,
                                         rondo_parameter_info *info) {
  return guarded({{"program", program}, {"info", info}}, [&]() -> Status {
    const auto *parameters = program->program->table().parameters();
    if (index >= sizeOf(parameters))
      return flagsError(
          format("parameter %u of %u", index, sizeOf(parameters)));
    const program::Parameter &parameter = *parameters->Get(index);
    rondo_parameter_info result{};
    result.name = cString(parameter.name());
    result.source = cString(parameter.source());
    result.type = (rondo_element_type)parameter.type();
    result.rank = sizeOf(parameter.shape());
    result.shape = shapeOf(parameter.shape()).data();
    countElements(parameter.shape(), result.elements);
    result.trainable = parameter.trainable();
    return give(result, info);
  });
}

rondo_error *rondo_program_check_output(const rondo_program *program,
                                        const char *weights, const char *path,
                                        int is_save) {
  return guarded({{"program", program}, {"path", path}}, [&] {
    return program->program->checkNotRead(path, weights ? weights : "",
                                          is_save != 0);
  });
}

//===----------------------------------------------------------------------===//
// Sessions
//===----------------------------------------------------------------------===//

/// `options` may be NULL, and of an older or newer header.
static Status readOptions(const rondo_session_options *options,
                          SessionOptions &opened) {
  rondo_session_options given = RONDO_INIT(rondo_session_options);
  if (options) {
    if (options->size < sizeof(size_t))
      return noSize();
    std::memcpy(&given, options, std::min(options->size, sizeof given));
  }
  auto set = [](std::string &target, const char *source) {
    target = source ? source : "";
  };
  set(opened.device, given.device);
  set(opened.weights, given.weights);
  set(opened.weightsPrefix, given.weights_prefix);
  opened.hostThreads = given.host_threads;
  opened.trace = given.trace != 0;
  opened.watchdogSeconds = given.watchdog_seconds;
  set(opened.tuneFile, given.tune);
  opened.retune = given.retune != 0;
  opened.delays = {given.delay_seed, given.delay_us};
  return Session::checkOptions(opened);
}

rondo_error *rondo_check_session_options(const rondo_session_options *options) {
  return guarded([&] {
    SessionOptions opened;
    return readOptions(options, opened);
  });
}

rondo_error *rondo_session_open(const rondo_program *program,
                                const rondo_session_options *options,
                                rondo_session **session) {
  return guarded({{"program", program}, {"session", session}}, [&]() -> Status {
    SessionOptions opened;
    if (Status status = readOptions(options, opened); !status.ok())
      return status;
    auto result = std::make_unique<rondo_session>();
    result->program = program->program;
    if (Status status =
            Session::open(*program->program, opened, result->session);
        !status.ok())
      return status;
    *session = result.release();
    return Status::success();
  });
}

void rondo_session_close(rondo_session *session) { delete session; }

rondo_error *rondo_session_set_input_file(rondo_session *session,
                                          const char *name, const char *path) {
  return guarded({{"session", session}, {"name", name}, {"path", path}},
                 [&] { return session->session->setInputFile(name, path); });
}

rondo_error *rondo_session_set_input(rondo_session *session, const char *name,
                                     rondo_element_type type, uint32_t rank,
                                     const int64_t *shape, const void *data) {
  return guarded(
      {{"session", session},
       {"name", name},
       {"shape", rank ? (const void *)shape : ""},
       {"data", data}},
      [&] {
        if ((unsigned)type > RONDO_BOOL)
          return flagsError(format("there is no element type %d", (int)type));
        return session->session->setInput(name, (program::ElementType)type,
                                          std::span<const int64_t>(shape, rank),
                                          data);
      });
}

rondo_error *rondo_session_set_order(rondo_session *session, int shuffle,
                                     uint64_t seed, uint32_t epochs) {
  return guarded({{"session", session}}, [&] {
    return session->session->setOrder(shuffle != 0, seed, epochs);
  });
}

rondo_error *rondo_session_set_learning_rate(rondo_session *session,
                                             const char *schedule,
                                             uint64_t total_steps) {
  return guarded({{"session", session}, {"schedule", schedule}}, [&] {
    return session->session->setLearningRate(schedule, total_steps);
  });
}

rondo_error *rondo_session_get_steps(rondo_session *session,
                                     uint64_t *available, uint64_t *per_epoch) {
  return guarded({{"session", session}}, [&]() -> Status {
    uint64_t steps = 0;
    if (Status status = session->session->stepsAvailable(steps); !status.ok())
      return status;
    if (available)
      *available = steps;
    if (per_epoch)
      *per_epoch = session->session->stepsPerEpoch();
    return Status::success();
  });
}

rondo_error *rondo_session_start(rondo_session *session, uint64_t steps,
                                 int keep_gradients) {
  return guarded({{"session", session}}, [&] {
    return session->session->start(steps, keep_gradients != 0);
  });
}

rondo_error *rondo_session_wait_loss(rondo_session *session, uint64_t step,
                                     double *loss) {
  return guarded({{"session", session}, {"loss", loss}},
                 [&] { return session->session->waitLoss(step, *loss); });
}

rondo_error *rondo_session_wait_step(rondo_session *session, uint64_t step,
                                     rondo_step_info *info) {
  return guarded({{"session", session}, {"info", info}}, [&]() -> Status {
    StepResult done;
    if (Status status = session->session->waitStep(step, done); !status.ok())
      return status;
    rondo_step_info result{};
    result.step = done.step;
    result.loss = done.loss;
    result.gradient_norm = done.gradientNorm;
    result.learning_rate = done.learningRate;
    result.end_ns = done.end;
    result.loss_scale = done.lossScale;
    result.skipped = done.skipped;
    return give(result, info);
  });
}

rondo_error *rondo_session_step(rondo_session *session, uint64_t steps,
                                double *losses) {
  return guarded(
      {{"session", session}, {"losses", steps ? (const void *)losses : ""}},
      [&]() -> Status {
        uint64_t first = session->session->startedSteps();
        if (Status status = session->session->start(steps); !status.ok())
          return status;
        for (uint64_t i = 0; i < steps; ++i)
          if (Status status = session->session->waitLoss(first + i, losses[i]);
              !status.ok())
            return status;
        return Status::success();
      });
}

rondo_error *rondo_session_synchronize(rondo_session *session) {
  return guarded({{"session", session}},
                 [&] { return session->session->synchronize(); });
}

//===----------------------------------------------------------------------===//
// State and reports
//===----------------------------------------------------------------------===//

rondo_error *rondo_session_read_parameter(rondo_session *session,
                                          const char *name,
                                          rondo_quantity quantity,
                                          float *values, uint64_t elements) {
  return guarded({{"session", session},
                  {"name", name},
                  {"values", elements ? (const void *)values : ""}},
                 [&] {
                   if (Status status = checkQuantity(quantity); !status.ok())
                     return status;
                   return session->session->readParameter(
                       name, (uint32_t)quantity,
                       std::span<float>(values, elements));
                 });
}

rondo_error *rondo_session_write_parameter(rondo_session *session,
                                           const char *name,
                                           rondo_quantity quantity,
                                           const float *values,
                                           uint64_t elements) {
  return guarded({{"session", session},
                  {"name", name},
                  {"values", elements ? (const void *)values : ""}},
                 [&] {
                   if (Status status = checkQuantity(quantity); !status.ok())
                     return status;
                   return session->session->writeParameter(
                       name, (uint32_t)quantity,
                       std::span<const float>(values, elements));
                 });
}

rondo_error *rondo_session_save(rondo_session *session, const char *path,
                                rondo_quantity quantity, rondo_names names) {
  return guarded({{"session", session}, {"path", path}}, [&] {
    if (Status status = checkQuantity(quantity); !status.ok())
      return status;
    if (names != RONDO_ONNX_NAMES && names != RONDO_SOURCE_NAMES)
      return flagsError(format("there are no names %d", (int)names));
    return session->session->save(path, (uint32_t)quantity,
                                  names == RONDO_SOURCE_NAMES);
  });
}

rondo_error *rondo_session_get_report(rondo_session *session,
                                      rondo_session_report *report) {
  return guarded({{"session", session}, {"report", report}}, [&]() -> Status {
    if (Status status = session->session->report(session->report); !status.ok())
      return status;
    rondo_session_report result{};
    result.steps = session->report.steps;
    result.seconds = session->report.seconds;
    result.step_seconds = session->report.stepSeconds;
    result.uploaded = session->report.uploadedBytes;
    result.downloaded = session->report.downloadedBytes;
    result.peer = session->report.peerBytes;
    result.samples_per_step = session->report.samplesPerStep;
    result.tokens_per_step = session->report.tokensPerStep;
    result.lanes = (uint32_t)session->report.lanes.size();
    result.devices = (uint32_t)session->report.devices.size();
    result.first_step = session->report.firstStep;
    result.issue_seconds = session->report.issueSeconds;
    result.bubble = session->report.bubble;
    result.flops_per_step = session->report.flopsPerStep;
    result.skipped_steps = session->report.skippedSteps;
    result.loss_scale = session->report.lossScale;
    result.arithmetic = session->report.arithmetic.c_str();
    result.program_arithmetic = session->report.programArithmetic.c_str();
    result.products = session->report.products.c_str();
    return give(result, report);
  });
}

rondo_error *rondo_session_get_lane(rondo_session *session, uint32_t index,
                                    rondo_lane_info *info) {
  return guarded({{"session", session}, {"info", info}}, [&]() -> Status {
    if (index >= session->report.lanes.size())
      return flagsError(format("lane %u of %zu: get the report first", index,
                               session->report.lanes.size()));
    const LaneReport &lane = session->report.lanes[index];
    rondo_lane_info result{};
    result.name = lane.name.c_str();
    result.busy_seconds = lane.busySeconds;
    result.copied_bytes = lane.copiedBytes;
    return give(result, info);
  });
}

rondo_error *rondo_session_get_device(rondo_session *session, uint32_t index,
                                      rondo_device_info *info) {
  return guarded({{"session", session}, {"info", info}}, [&]() -> Status {
    if (index >= session->report.devices.size())
      return flagsError(format("device %u of %zu: get the report first", index,
                               session->report.devices.size()));
    const DeviceReport &device = session->report.devices[index];
    rondo_device_info result{};
    result.name = device.name.c_str();
    result.arena = device.arena;
    result.workspace = device.workspace;
    result.other = device.other;
    result.total = device.total;
    result.used = device.used;
    result.ring = device.ring;
    result.ring_reason = device.ringReason.c_str();
    result.code = device.code.c_str();
    result.graphs = device.graphs;
    result.context_counted = device.contextCounted;
    return give(result, info);
  });
}

rondo_error *rondo_session_begin_measuring(rondo_session *session) {
  return guarded({{"session", session}},
                 [&] { return session->session->beginMeasuring(); });
}

rondo_error *rondo_session_write_trace(rondo_session *session,
                                       const char *path) {
  return guarded({{"session", session}, {"path", path}},
                 [&] { return session->session->writeTrace(path); });
}
