//===- DeviceTest.cpp - What every kind of device does --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conformance suite: parameterised by a device specification. Memory of a device is reached by copies alone.
//
//===----------------------------------------------------------------------===//

#include "Host/Executable.h"
#include "ProgramBuilder.h"
#include "rondo/Runtime/Device.h"
#include <chrono>
#include <gtest/gtest.h>
#include <thread>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using ProgramLane = program::Lane;

namespace {

class DeviceTest : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::string kind;
    uint32_t count = 0;
    ASSERT_TRUE(parseDeviceSpec(GetParam(), kind, count).ok());
    ToyOptions toy;
    toy.devices = count;
    program::ProgramT table = toyProgram(toy);
    // Entry 4: writes i + *addend to its first argument.
    auto entry = std::make_unique<program::EntryT>();
    entry->name = "iota";
    entry->arguments = 2;
    entry->calls.push_back(std::make_unique<program::CallT>());
    entry->calls[0]->symbol = "iota";
    entry->calls[0]->extent = 64;
    entry->calls[0]->addresses = {program::Address(0, 0), program::Address(1, 0)};
    table.entries.push_back(std::move(entry));
    writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
    Status status = Program::load(folder / "toy.rondo", program);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Executable::create(*program, executable).ok());
    open({});
  }

  void open(DeviceOptions options) {
    for (uint32_t &capacity : options.capacity)
      capacity = 64;
    options.stop = &stop;
    devices.clear();
    Status status = openDevices(GetParam(), *program, *executable, options, devices);
    ASSERT_TRUE(status.ok()) << status.message();
  }

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
  std::atomic<uint32_t> stop{Event::kReleased};
  std::vector<std::unique_ptr<Device>> devices;
};

std::byte *bytes(void *pointer) { return static_cast<std::byte *>(pointer); }

} // namespace

TEST_P(DeviceTest, HasSeparateArenasOfThePlannedSize) {
  for (auto &device : devices)
    EXPECT_EQ(device->arena().bytes, program->table().device_bytes());
  // What goes into one device's arena does not show in another's.
  Event done;
  Task copyUp = task(TaskKind::Copy, done, 64);
  std::vector<float> out(16, 0);
  for (uint32_t d = 0; d < devices.size(); ++d) {
    std::vector<float> in(16, (float)d + 1);
    std::byte *up[2] = {bytes(in.data()), devices[d]->arena().data};
    devices[d]->lane(ProgramLane::ParameterUp).submit({&copyUp, d, up, nullptr});
    done.wait(d + 1);
  }
  Event back;
  Task copyDown = task(TaskKind::Copy, back, 64);
  for (uint32_t d = 0; d < devices.size(); ++d) {
    std::byte *down[2] = {devices[d]->arena().data, bytes(out.data())};
    devices[d]->lane(ProgramLane::GradientDown).submit({&copyDown, d, down, nullptr});
    back.wait(d + 1);
    EXPECT_EQ(out[15], (float)d + 1);
  }
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, RunsALanesTasksInOrder) {
  std::vector<int> values(40), out(1);
  std::byte *up[40][2], *down[2] = {devices[0]->arena().data, bytes(out.data())};
  Event done, back;
  Task copy = task(TaskKind::Copy, done, 4), down1 = task(TaskKind::Copy, back, 4);
  for (int i = 0; i < 40; ++i) {
    values[(size_t)i] = i;
    up[i][0] = bytes(&values[(size_t)i]);
    up[i][1] = devices[0]->arena().data;
    devices[0]->lane(ProgramLane::ActivationUp).submit({&copy, (uint32_t)i, up[i], nullptr});
  }
  devices[0]->lane(ProgramLane::ActivationUp).submit({&down1, 0, down, nullptr});
  back.wait(1);
  EXPECT_EQ(out[0], 39);
  EXPECT_EQ(done.value(), 40u);
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, LaunchWaitsForUploadAndDownloadForLaunch) {
  float addend = 5;
  std::vector<float> out(64);
  std::byte *arena = devices[0]->arena().data;
  std::byte *up[2] = {bytes(&addend), arena + 1024}, *run[2] = {arena, arena + 1024}, *down[2] = {arena, bytes(out.data())};
  Event uploaded, ran, downloaded, go;
  Task copyUp = task(TaskKind::Copy, uploaded, 4), launch = task(TaskKind::Launch, ran),
       copyDown = task(TaskKind::Copy, downloaded, 256);
  launch.entry = 4;
  copyUp.waits.push_back({&go, 0, 0});
  launch.waits.push_back({&uploaded, 0, 0});
  copyDown.waits.push_back({&ran, 0, 1});
  // Submitted in the opposite order of what the waits say; the lanes differ.
  devices[0]->lane(ProgramLane::ActivationDown).submit({&copyDown, 0, down, nullptr});
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

TEST_P(DeviceTest, WaitsOfEarlierIterationsHoldBeforeTheyExist) {
  Event other, done;
  Task zero = task(TaskKind::Zero, done, 256);
  zero.waits.push_back({&other, 2, 0});
  std::byte *target[1] = {devices[0]->arena().data};
  Lane &lane = devices[0]->lane(ProgramLane::Compute);
  for (uint32_t t = 0; t < 4; ++t)
    lane.submit({&zero, t, target, nullptr});
  done.wait(2); // 0 and 1 wait for nothing.
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(done.reached(3)); // 2 waits until `other` has done one iteration.
  other.signal(1);
  done.wait(3);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(done.reached(4));
  other.signal(2);
  done.wait(4);
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, MeasuresTasksAndCopies) {
  Event done;
  Task copy = task(TaskKind::Copy, done, 4096);
  std::vector<char> source(4096, 1);
  std::byte *up[2] = {bytes(source.data()), devices[0]->arena().data};
  Span span;
  int64_t before = now();
  Lane &lane = devices[0]->lane(ProgramLane::ActivationUp);
  lane.submit({&copy, 0, up, &span});
  done.wait(1);
  EXPECT_LE(before, span.begin);
  EXPECT_LE(span.begin, span.end);
  EXPECT_LE(span.end, now());
  EXPECT_EQ(lane.copied(), 4096u);
  EXPECT_GE(lane.busy(), span.end - span.begin);
  devices.clear(); // before the tasks that their lanes know
}

TEST_P(DeviceTest, SkipsWhatComesAfterTheStop) {
  std::vector<int> values{1, 2}, out(1);
  std::byte *arena = devices[0]->arena().data;
  std::byte *up0[2] = {bytes(&values[0]), arena}, *up1[2] = {bytes(&values[1]), arena}, *down[2] = {arena, bytes(out.data())};
  Event done, back;
  Task copy = task(TaskKind::Copy, done, 4), copyBack = task(TaskKind::Copy, back, 4);
  stop.store(1);
  Lane &lane = devices[0]->lane(ProgramLane::ActivationUp);
  lane.submit({&copy, 0, up0, nullptr});
  lane.submit({&copy, 1, up1, nullptr}); // not run, but signalled: nobody waits for ever
  lane.submit({&copyBack, 0, down, nullptr});
  back.wait(1);
  EXPECT_EQ(done.value(), 2u);
  EXPECT_EQ(out[0], 1);
  devices.clear(); // before the tasks that their lanes know
}

// With rotation an operation's iterations run on different devices, so a later one may end first.
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
  Event never, done;
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
  std::vector<int> values(20), out(20);
  std::byte *arena = devices[0]->arena().data, *up[20][2], *down[20][2];
  Event uploaded, downloaded;
  Task copyUp = task(TaskKind::Copy, uploaded, 4), copyDown = task(TaskKind::Copy, downloaded, 4);
  copyUp.waits.push_back({&downloaded, 1, 1});
  copyDown.waits.push_back({&uploaded, 0, 0});
  for (int i = 0; i < 20; ++i) {
    values[(size_t)i] = i * i;
    up[i][0] = bytes(&values[(size_t)i]);
    up[i][1] = down[i][0] = arena;
    down[i][1] = bytes(&out[(size_t)i]);
    devices[0]->lane(ProgramLane::ActivationUp).submit({&copyUp, (uint32_t)i, up[i], nullptr});
    devices[0]->lane(ProgramLane::ActivationDown).submit({&copyDown, (uint32_t)i, down[i], nullptr});
  }
  downloaded.wait(20);
  EXPECT_EQ(out, values);
  devices.clear(); // before the tasks that their lanes know
}

INSTANTIATE_TEST_SUITE_P(Host, DeviceTest, ::testing::Values("host:1", "host:3"),
                         [](const auto &info) { return std::string(info.param).replace(4, 1, "_"); });
