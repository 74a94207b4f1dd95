//===- DeviceTest.cpp - What every kind of device does --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conformance suite: parameterised by a device specification. Memory of a
// device is reached by copies alone.
//
//===----------------------------------------------------------------------===//

#include "rondo/Runtime/Device.h"
#include "Convert.h"
#include "Host/HostDevice.h"
#include "ProgramBuilder.h"
#include <bit>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using ProgramLane = program::Lane;

namespace {

/// With RONDO_TEST_CUDA=N: one GPU, and N of them.
std::vector<const char *> cudaSpecs() {
  static const std::string all = format("cuda:%u", testGpus());
  if (testGpus() == 0)
    return {};
  return testGpus() == 1 ? std::vector<const char *>{"cuda:1"}
                         : std::vector<const char *>{"cuda:1", all.c_str()};
}

class DeviceTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::string kind;
    uint32_t count = 0;
    ASSERT_TRUE(parseDeviceSpec(GetParam(), kind, count).ok());
    ToyOptions toy;
    toy.devices = count;
    toy.gpu = kind == "cuda";
    program::ProgramT table = toyProgram(toy);
    // Entry 4: writes i + *addend to its first argument.
    auto entry = std::make_unique<program::EntryT>();
    entry->name = "iota";
    entry->arguments = 2;
    entry->calls.push_back(std::make_unique<program::CallT>());
    entry->calls[0]->symbol = "iota";
    entry->calls[0]->extent = 64;
    entry->calls[0]->addresses = {program::Address(0, 0),
                                  program::Address(1, 0)};
    entry->calls[0]->reach = {program::Reach(0, 0, 0, 4),
                              program::Reach(0, 4, 0, 0)};
    table.entries.push_back(std::move(entry));
    // A GPU prepares only what some operation launches.
    auto launch = std::make_unique<program::OpT>();
    launch->kind = program::OpKind::Launch;
    launch->lane = ProgramLane::Compute;
    launch->device = 0;
    launch->entry = 4;
    for (int i = 0; i < 2; ++i) {
      launch->operands.push_back(std::make_unique<program::OperandT>());
      launch->operands[(size_t)i]->buffers = {deviceBuffer(table)};
      launch->operands[(size_t)i]->bytes = 256;
      launch->operands[(size_t)i]->access = i ? 1 : 2;
    }
    table.ops.push_back(std::move(launch));
    if (toy.gpu)
      addDeviceCode(table);
    writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
    Status status = Program::load(folder / "toy.rondo", program);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Executable::create(*program, executable).ok());
    ASSERT_TRUE(shared.allocate(1 << 20, "shared memory").ok());
    open({});
  }

  void open(DeviceOptions options) {
    for (uint32_t &capacity : options.capacity)
      capacity = 64;
    options.stop = &stop;
    devices.clear();
    Status status =
        openDevices(GetParam(), *program, *executable, options, devices);
    ASSERT_TRUE(status.ok()) << status.message();
    status =
        devices[0]->share(shared.buffer(), HostUse::Events, "shared memory");
    ASSERT_TRUE(status.ok()) << status.message();
  }

  /// A buffer on device 0.
  static uint32_t deviceBuffer(const program::ProgramT &table) {
    for (uint32_t i = 0; i < table.buffers.size(); ++i)
      if (table.buffers[i]->space == program::Space::Device &&
          table.buffers[i]->device == 0)
        return i;
    return 0;
  }

  /// In memory that devices reach, zeros; of one cache line at least.
  template <typename T>
  std::span<T> allocate(size_t count = 1) {
    std::byte *place = shared.buffer().data + used;
    used += (count * sizeof(T) + 63) / 64 * 64;
    EXPECT_LE(used, shared.buffer().bytes);
    auto *first = reinterpret_cast<T *>(place);
    std::uninitialized_value_construct_n(first, count);
    return {first, count};
  }
  Event &event() { return allocate<Event>()[0]; }

  /// A task that signals `done`; `arguments` are kept by the test.
  Task task(TaskKind kind, Event &done, uint64_t bytes = 0) {
    Task result;
    result.kind = kind;
    result.bytes = bytes;
    result.done = &done;
    return result;
  }

  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  std::unique_ptr<Executable> executable;
  Arena shared;
  size_t used = 0;
  std::atomic<uint32_t> stop{Event::kReleased};
  std::vector<std::unique_ptr<Device>> devices;
};

std::byte *bytes(void *pointer) { return static_cast<std::byte *>(pointer); }

} // namespace

TEST_P(DeviceTest, HasSeparateArenasOfThePlannedSize) {
  for (auto &device : devices)
    EXPECT_EQ(device->arena().bytes, program->table().device_bytes());
  // What goes into one device's arena does not show in another's.
  Event &done = event();
  Task copyUp = task(TaskKind::Copy, done, 64);
  std::span<float> out = allocate<float>(16);
  for (uint32_t d = 0; d < devices.size(); ++d) {
    std::span<float> in = allocate<float>(16);
    std::fill(in.begin(), in.end(), (float)d + 1);
    std::byte *up[2] = {bytes(in.data()), devices[d]->arena().data};
    devices[d]
        ->lane(ProgramLane::ParameterUp)
        .submit({&copyUp, d, up, nullptr});
    done.wait(d + 1);
  }
  Event &back = event();
  Task copyDown = task(TaskKind::Copy, back, 64);
  for (uint32_t d = 0; d < devices.size(); ++d) {
    std::byte *down[2] = {devices[d]->arena().data, bytes(out.data())};
    devices[d]
        ->lane(ProgramLane::GradientDown)
        .submit({&copyDown, d, down, nullptr});
    back.wait(d + 1);
    EXPECT_EQ(out[15], (float)d + 1);
  }
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, RunsALanesTasksInOrder) {
  std::span<int> values = allocate<int>(40), out = allocate<int>();
  std::byte *up[40][2],
      *down[2] = {devices[0]->arena().data, bytes(out.data())};
  Event &done = event(), &back = event();
  Task copy = task(TaskKind::Copy, done, 4),
       down1 = task(TaskKind::Copy, back, 4);
  for (int i = 0; i < 40; ++i) {
    values[(size_t)i] = i;
    up[i][0] = bytes(&values[(size_t)i]);
    up[i][1] = devices[0]->arena().data;
    devices[0]
        ->lane(ProgramLane::ActivationUp)
        .submit({&copy, (uint32_t)i, up[i], nullptr});
  }
  devices[0]
      ->lane(ProgramLane::ActivationUp)
      .submit({&down1, 0, down, nullptr});
  back.wait(1);
  EXPECT_EQ(out[0], 39);
  EXPECT_EQ(done.value(), 40u);
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, LaunchWaitsForUploadAndDownloadForLaunch) {
  float &addend = allocate<float>()[0];
  addend = 5;
  std::span<float> out = allocate<float>(64);
  std::byte *arena = devices[0]->arena().data;
  std::byte *up[2] = {bytes(&addend), arena + 1024},
            *run[2] = {arena, arena + 1024},
            *down[2] = {arena, bytes(out.data())};
  Event &uploaded = event(), &ran = event(), &downloaded = event(),
        &go = event();
  Task copyUp = task(TaskKind::Copy, uploaded, 4),
       launch = task(TaskKind::Launch, ran),
       copyDown = task(TaskKind::Copy, downloaded, 256);
  launch.entry = 4;
  copyUp.waits.push_back({&go, 0, 0});
  launch.waits.push_back({&uploaded, 0, 0});
  copyDown.waits.push_back({&ran, 0, 1});
  // Submitted in the opposite order of what the waits say; the lanes differ.
  devices[0]
      ->lane(ProgramLane::ActivationDown)
      .submit({&copyDown, 0, down, nullptr});
  devices[0]->lane(ProgramLane::Compute).submit({&launch, 0, run, nullptr});
  devices[0]->lane(ProgramLane::ParameterUp).submit({&copyUp, 0, up, nullptr});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(uploaded.reached(1));
  EXPECT_FALSE(ran.reached(1));
  EXPECT_FALSE(downloaded.reached(1));
  go.signal(1);
  downloaded.wait(1);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(out[(size_t)i], (float)i + 5);
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, RoundsInPlace) {
  // No multiple of what a block of threads takes; ties, and what a double
  // rounding would get wrong.
  constexpr size_t count = 5003;
  std::span<float> values = allocate<float>(count);
  std::span<uint16_t> out = allocate<uint16_t>(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::bit_cast<float>(0x3f800000u + (uint32_t)i * 0x5555u) *
                (i % 3 ? 1 : -1e-20f);
  std::byte *arena = devices[0]->arena().data;
  ASSERT_GE(devices[0]->arena().bytes, 4 * count);
  std::byte *up[2] = {bytes(values.data()), arena}, *in[1] = {arena},
            *down[2] = {arena, bytes(out.data())};
  Event &uploaded = event(), &rounded = event(), &downloaded = event();
  Task copyUp = task(TaskKind::Copy, uploaded, 4 * count),
       round = task(TaskKind::Round, rounded, 4 * count),
       copyDown = task(TaskKind::Copy, downloaded, 2 * count);
  round.waits.push_back({&uploaded, 0, 0});
  copyDown.waits.push_back({&rounded, 0, 0});
  devices[0]->lane(ProgramLane::ParameterUp).submit({&copyUp, 0, up, nullptr});
  devices[0]->lane(ProgramLane::Compute).submit({&round, 0, in, nullptr});
  devices[0]
      ->lane(ProgramLane::GradientDown)
      .submit({&copyDown, 0, down, nullptr});
  downloaded.wait(1);
  for (size_t i = 0; i < count; ++i)
    ASSERT_EQ(out[i], roundBF16(values[i])) << i;
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, WaitsOfEarlierIterationsHoldBeforeTheyExist) {
  Event &other = event(), &done = event();
  Task zero = task(TaskKind::Zero, done, 256);
  zero.waits.push_back({&other, 2, 0});
  std::byte *target[1] = {devices[0]->arena().data};
  Lane &lane = devices[0]->lane(ProgramLane::Compute);
  for (uint32_t t = 0; t < 4; ++t)
    lane.submit({&zero, t, target, nullptr});
  done.wait(2); // 0 and 1 wait for nothing.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(
      done.reached(3)); // 2 waits until `other` has done one iteration.
  other.signal(1);
  done.wait(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(done.reached(4));
  other.signal(2);
  done.wait(4);
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, MeasuresTasksAndCopies) {
  Task copy = task(TaskKind::Copy, event(), 4096);
  std::span<char> source = allocate<char>(4096);
  // The second time as where a host notices late what its GPUs did (only the
  // tests' driver knows how, see FakeGpu).
  for (bool late : {false, true}) {
    if (late) {
      ::setenv("RONDO_FAKE_LATENESS", "3000", 1);
      open({});
      ::unsetenv("RONDO_FAKE_LATENESS");
    }
    Event &done = event();
    copy.done = &done;
    std::byte *up[2] = {bytes(source.data()), devices[0]->arena().data};
    Span span;
    int64_t before = now();
    Lane &lane = devices[0]->lane(ProgramLane::ActivationUp);
    lane.submit({&copy, 0, up, &span});
    done.wait(1);
    EXPECT_LE(before, span.begin) << late;
    EXPECT_LE(span.begin, span.end) << late;
    EXPECT_LE(span.end, now()) << late;
    EXPECT_EQ(lane.copied(), 4096u);
    EXPECT_GE(lane.busy(), span.end - span.begin);
  }
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, SkipsWhatComesAfterTheStop) {
  std::span<int> values = allocate<int>(2), out = allocate<int>();
  values[0] = 1;
  values[1] = 2;
  std::byte *arena = devices[0]->arena().data;
  std::byte *up0[2] = {bytes(&values[0]), arena},
            *up1[2] = {bytes(&values[1]), arena},
            *down[2] = {arena, bytes(out.data())};
  Event &done = event(), &back = event();
  Task copy = task(TaskKind::Copy, done, 4),
       copyBack = task(TaskKind::Copy, back, 4);
  stop.store(1);
  Lane &lane = devices[0]->lane(ProgramLane::ActivationUp);
  lane.submit({&copy, 0, up0, nullptr});
  lane.submit({&copy, 1, up1,
               nullptr}); // not run, but signalled: nobody waits for ever
  lane.submit({&copyBack, 0, down, nullptr});
  back.wait(1);
  EXPECT_EQ(done.value(), 2u);
  EXPECT_EQ(out[0], 1);
  devices.clear(); // before the tasks that their lanes know
}

// With rotation an operation's iterations run on different devices, so a later
// one may end first.
TEST(EventTest, ALaterIterationDoesNotStandForAnEarlierOne) {
  Event event;
  event.signal(2);
  EXPECT_TRUE(event.reached(2));
  EXPECT_FALSE(event.reached(1));
  event.signal(1);
  EXPECT_TRUE(event.reached(1));
  event.signal(3);
  EXPECT_TRUE(event.reached(3));
  EXPECT_FALSE(event.reached(4));
}

TEST_P(DeviceTest, AReleasedEventHoldsNobody) {
  Event &never = event(), &done = event();
  Task zero = task(TaskKind::Zero, done, 4);
  zero.waits.push_back({&never, 0, 0});
  std::byte *target[1] = {devices[0]->arena().data};
  devices[0]->lane(ProgramLane::Compute).submit({&zero, 0, target, nullptr});
  LaneState state;
  for (int i = 0; i < 1000 && state.waitingFor < 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    state = devices[0]->lane(ProgramLane::Compute).state();
  }
  EXPECT_EQ(state.waitingFor, 0);
  EXPECT_EQ(state.waitingValue, 1u);
  never.release();
  done.wait(1);
  never.signal(1); // must not take the release back
  EXPECT_TRUE(never.reached(100));
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, DelaysChangeNoOrder) {
  DeviceOptions options;
  options.delays = {3, 200};
  open(options);
  std::span<int> values = allocate<int>(20), out = allocate<int>(20);
  std::byte *arena = devices[0]->arena().data, *up[20][2], *down[20][2];
  Event &uploaded = event(), &downloaded = event();
  Task copyUp = task(TaskKind::Copy, uploaded, 4),
       copyDown = task(TaskKind::Copy, downloaded, 4);
  copyUp.waits.push_back({&downloaded, 1, 1});
  copyDown.waits.push_back({&uploaded, 0, 0});
  for (int i = 0; i < 20; ++i) {
    values[(size_t)i] = i * i;
    up[i][0] = bytes(&values[(size_t)i]);
    up[i][1] = down[i][0] = arena;
    down[i][1] = bytes(&out[(size_t)i]);
    devices[0]
        ->lane(ProgramLane::ActivationUp)
        .submit({&copyUp, (uint32_t)i, up[i], nullptr});
    devices[0]
        ->lane(ProgramLane::ActivationDown)
        .submit({&copyDown, (uint32_t)i, down[i], nullptr});
  }
  downloaded.wait(20);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), values.begin()));
  devices.clear(); // before the tasks that their lanes know
}

INSTANTIATE_TEST_SUITE_P(Host, DeviceTest,
                         ::testing::Values("host:1", "host:3"),
                         [](const auto &info) {
                           return std::string(info.param).replace(4, 1, "_");
                         });

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceTest, ::testing::ValuesIn(cudaSpecs()),
                         [](const auto &info) {
                           return std::string(info.param).replace(4, 1, "_");
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceTest);
