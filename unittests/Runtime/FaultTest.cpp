//===- FaultTest.cpp - Every command of a device fails once ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever fails, and however: the error names operation and node, nobody waits
// for ever, steps before it count, and files that were written stay as they
// are.
//
//===----------------------------------------------------------------------===//

#include "FaultyDevice.h"
#include "Training.h"
#include <future>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

namespace {

constexpr uint64_t kSteps = 4;

/// Devices, the kind of fault, and whether they update the parameters.
using Way = std::tuple<const char *, FaultKind, bool>;

class FaultTest : public ::testing::TestWithParam<Way> {
protected:
  void SetUp() override {
    std::string kind;
    uint32_t devices = 0;
    ASSERT_TRUE(parseDeviceSpec(std::get<0>(GetParam()), kind, devices).ok());
    options = toy(devices, 1, 2, 1, false, true, 0.5);
    options.gpu = kind == "cuda";
    options.deviceUpdates = std::get<2>(GetParam());
    good = train(options, kSteps, sessionOptions());
    Running early(options, kSteps, sessionOptions());
    for (uint64_t step = 0; step <= kSteps; ++step) {
      if (step)
        EXPECT_OK(early.session->start(1));
      std::string path = early.folder / "w.safetensors";
      EXPECT_OK(early.session->save(path, 0, false));
      weights.push_back(readBytes(path));
    }
  }
  SessionOptions sessionOptions() const {
    SessionOptions result;
    result.device = std::get<0>(GetParam());
    return result;
  }
  void fail(uint32_t op, uint32_t iteration) const;

  ToyOptions options;
  Outcome good;                     ///< Of an undisturbed run.
  std::vector<std::string> weights; ///< After so many steps, as files.
};

} // namespace

/// Trains with operation `op` failing in `iteration`.
void FaultTest::fail(uint32_t op, uint32_t iteration) const {
  FaultKind kind = std::get<1>(GetParam());
  Fault fault(kind, op, iteration);
  SessionOptions faulty = sessionOptions();
  faulty.watchdogSeconds = kind == FaultKind::Hang ? 1 : 60;
  faulty.decorate = [&](std::unique_ptr<Device> device,
                        const DeviceOptions &deviceOptions) {
    return fault.wrap(std::move(device), deviceOptions);
  };
  Running running(options, kSteps, faulty);
  Session &session = *running.session;
  std::string before = running.folder / "before.safetensors",
              after = running.folder / "after.safetensors";
  EXPECT_OK(session.save(before, 0, false));
  EXPECT_OK(session.save(after, 0, false));
  EXPECT_OK(session.start(kSteps));
  Status status = session.synchronize();
  ASSERT_TRUE(fault.happened());
  std::string name = opText(running.program->table(), op);
  EXPECT_EQ(status.code(), Code::Device) << name;
  std::vector<std::string> parts;
  if (kind == FaultKind::Hang)
    parts = {"no operation ended within 1 seconds",
             format("step %u %s is running", iteration, name.c_str())};
  else
    parts = {format("step %u: %s: GPU 7: %s", iteration, name.c_str(),
                    kind == FaultKind::Error ? "the launch failed"
                                             : "out of memory")};
  for (const std::string &part : parts)
    EXPECT_NE(status.message().find(part), std::string::npos)
        << part << "\n"
        << status.message();
  EXPECT_LE(session.completedSteps(), iteration);
  // Steps that ended before are as if nothing had happened.
  for (uint64_t step = 0; step < session.completedSteps(); ++step) {
    StepResult result;
    EXPECT_OK(session.waitStep(step, result));
    EXPECT_EQ(result.loss, good.losses[step]) << name;
  }
  // Nothing goes on, and it always says the same.
  EXPECT_EQ(session.start(1).message(), status.message());
  double loss = 0;
  EXPECT_EQ(session.waitLoss(kSteps - 1, loss).message(), status.message());
  // A file is either that of whole steps, or not written.
  Status saved = session.save(after, 0, false);
  if (saved.ok())
    EXPECT_TRUE(readBytes(after) == weights[session.completedSteps()]) << name;
  else
    EXPECT_EQ(saved.message(), status.message());
  EXPECT_TRUE(saved.ok() || readBytes(after) == weights[0]) << name;
  EXPECT_TRUE(readBytes(before) == weights[0]) << name;
  if (kind == FaultKind::Hang) {
    EXPECT_FALSE(saved.ok()) << name;
  }
  fault.resume();
}

TEST_P(FaultTest, EveryCommand) {
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  ASSERT_TRUE(Program::load(writeToy(folder, options), program).ok());
  FaultKind kind = std::get<1>(GetParam());
  std::vector<std::pair<uint32_t, uint32_t>> places;
  for (uint32_t op = 0; op < sizeOf(program->table().ops()); ++op)
    if (!isHostLane(program->table().ops()->Get(op)->lane())) {
      places.emplace_back(op, 2);
      if (kind != FaultKind::Error || options.gpu)
        continue;
      places.emplace_back(op, 0);
      places.emplace_back(op, (uint32_t)kSteps - 1);
    }
  ASSERT_GT(places.size(), 15u);
  // They mostly wait: for the watchdog, and for files.
  constexpr size_t atATime = 8;
  for (size_t first = 0; first < places.size(); first += atATime) {
    std::vector<std::future<void>> runs;
    for (size_t i = first; i < std::min(first + atATime, places.size()); ++i)
      runs.push_back(std::async(std::launch::async, [&, i] {
        fail(places[i].first, places[i].second);
      }));
  }
}

// The wrapper itself changes nothing.
TEST_P(FaultTest, NoFault) {
  Fault none;
  SessionOptions wrapped = sessionOptions();
  wrapped.decorate = [&](std::unique_ptr<Device> device,
                         const DeviceOptions &deviceOptions) {
    return none.wrap(std::move(device), deviceOptions);
  };
  EXPECT_TRUE(train(options, kSteps, wrapped) == good);
  EXPECT_GT(none.performed(), 15 * kSteps);
}

static std::vector<const char *> specs() {
  std::vector<const char *> specs = {"host:2"};
  if (testGpus() != 0)
    specs.push_back("cuda:1");
  if (testGpus() > 1)
    specs.push_back("cuda:2");
  return specs;
}

static std::string nameOf(const ::testing::TestParamInfo<Way> &info) {
  const char *kinds[] = {"None", "Error", "OutOfMemory", "Hang"};
  std::string spec = std::get<0>(info.param);
  return spec.replace(4, 1, "_") + "_" +
         kinds[(size_t)std::get<1>(info.param)] +
         (std::get<2>(info.param) ? "_DeviceUpdates" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Devices, FaultTest,
    ::testing::Combine(::testing::ValuesIn(specs()),
                       ::testing::Values(FaultKind::Error,
                                         FaultKind::OutOfMemory,
                                         FaultKind::Hang),
                       ::testing::Bool()),
    nameOf);
