//===- CudaTest.cpp - Training on GPUs ------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most of it needs GPUs: RONDO_TEST_CUDA=N says how many may be used.
// CONTRIBUTING.md says how to run it on another machine.
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include <cstdio>
#include <filesystem>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

namespace {

ToyOptions onGpus(ToyOptions options) {
  options.gpu = true;
  return options;
}

#define NEEDS_GPUS(COUNT)                                                      \
  if (testGpus() < (COUNT))                                                    \
  GTEST_SKIP() << "needs " << (COUNT) << " GPUs: set RONDO_TEST_CUDA"

void expectPart(const Status &status, Code code, const char *part) {
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

class CudaTraining : public ::testing::TestWithParam<ToyOptions> {};

} // namespace

//===----------------------------------------------------------------------===//
// Without a GPU
//===----------------------------------------------------------------------===//

// What holds code for GPUs runs on the host, too, with the same bits as what
// holds none.
TEST(Cuda, ProgramsForGpusRunOnTheHost) {
  SessionOptions onHost;
  onHost.device = "host:2";
  EXPECT_TRUE(train(onGpus(toy(2, 1, 2)), 3, onHost) == train(toy(2, 1, 2), 3));
}

TEST(Cuda, SaysWhyThereIsNone) {
  std::string list = listDevices();
  EXPECT_EQ(list.rfind("host:N  N virtual devices", 0), 0u) << list;
  size_t none = list.find("\ncuda:N  none: ");
  if (none == std::string::npos) {
    EXPECT_NE(list.find("\n  GPU 0: "), std::string::npos) << list;
    GTEST_SKIP() << "this machine has GPUs";
  }
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  EXPECT_OK(Program::load(writeToy(folder, onGpus(toy(1, 1, 1))), program));
  std::unique_ptr<Session> session;
  Status status = Session::open(*program, {}, session);
  expectPart(status, Code::Device, "--device=cuda:1: ");
  std::string why = list.substr(none + 15);
  why.pop_back();
  expectPart(status, Code::Device, why.c_str());
}

//===----------------------------------------------------------------------===//
// With GPUs
//===----------------------------------------------------------------------===//

TEST_P(CudaTraining, FollowsTheReference) {
  ToyOptions options = onGpus(GetParam());
  NEEDS_GPUS(options.devices);
  constexpr uint64_t steps = 5;
  ToyReference reference =
      trainReference(options, toyData(options, steps), steps);
  expectLike(train(options, steps), reference, options.clipNorm > 0,
             options.bf16 ? 3e-3 : 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Ways, CudaTraining,
                         ::testing::Values(toy(1, 1, 1), toy(1, 2, 2),
                                           toy(1, 2, 2, 1),
                                           toy(1, 1, 2, 0, true),
                                           toy(1, 2, 2, 1, true, true, 0.5),
                                           toy(2, 1, 4), toy(2, 2, 2),
                                           toy(2, 2, 2, 1, false, true, 0.5),
                                           toy(2, 1, 2, 1, true)));

TEST(Cuda, RunsChangeNoBit) {
  NEEDS_GPUS(1);
  for (uint32_t staleness : {0u, 1u}) {
    Outcome first = train(onGpus(toy(1, 2, 2, staleness, true, true, 0.5)), 6);
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(train(onGpus(toy(1, 2, 2, staleness, true, true, 0.5)), 6) ==
                  first);
  }
}

TEST(Cuda, GpusChangeNoBit) {
  NEEDS_GPUS(2);
  for (uint32_t staleness : {0u, 1u}) {
    Outcome first = train(onGpus(toy(1, 2, 2, staleness, true, true, 0.5)), 6);
    for (uint32_t devices = 2; devices <= testGpus(); ++devices)
      EXPECT_TRUE(train(onGpus(toy(devices, 2, 2, staleness, true, true, 0.5)),
                        6) == first)
          << devices;
  }
}

TEST(Cuda, DelaysChangeNoBit) {
  NEEDS_GPUS(1);
  ToyOptions options = onGpus(toy(testGpus(), 2, 1, 1, false, true, 0.5));
  Outcome first = train(options, 4);
  for (uint64_t seed = 0; seed < 25; ++seed) {
    SessionOptions sessionOptions;
    sessionOptions.delays = {seed, 300};
    EXPECT_TRUE(train(options, 4, sessionOptions) == first) << seed;
  }
}

// Many steps in one go: rings of events and words go round often.
TEST(Cuda, ManySteps) {
  NEEDS_GPUS(1);
  ToyOptions options = onGpus(toy(testGpus(), 1, 2, 1));
  Running running(options, 300);
  EXPECT_OK(running.session->start(300));
  EXPECT_OK(running.session->synchronize());
  ToyOptions onHost = options;
  onHost.gpu = false;
  Running host(onHost, 300);
  EXPECT_OK(host.session->start(300));
  double loss = 0, expected = 0;
  for (uint64_t step = 0; step < 300; ++step) {
    EXPECT_OK(running.session->waitLoss(step, loss));
    EXPECT_OK(host.session->waitLoss(step, expected));
    EXPECT_NEAR(loss, expected, 1e-3 * expected) << step;
  }
}

TEST(Cuda, AnIndexOutOfRangeNamesItsNode) {
  NEEDS_GPUS(1);
  for (uint32_t staleness : {0u, 1u}) {
    ToyOptions options = onGpus(toy(1, 2, 1, staleness));
    Running running(options, 3);
    running.data.labels[(1 * 2 + 1) * TOY_ROWS] = 1000;
    EXPECT_OK(running.session->start(3));
    StepResult result;
    EXPECT_OK(running.session->waitStep(0, result));
    expectPart(
        running.session->waitStep(1, result), Code::User,
        "step 1, micro-batch 1: node 'node_square': an index is out of range");
    Running good(options, 3);
    EXPECT_OK(good.session->start(1));
    EXPECT_EQ(read(*running.session, "val_1", 0, kToyWeight),
              read(*good.session, "val_1", 0, kToyWeight));
  }
}

TEST(Cuda, ANonFiniteLossStopsBeforeTheUpdate) {
  NEEDS_GPUS(1);
  ToyOptions options = onGpus(toy(1, 1, 2, 1));
  Running good(options, 6), bad(options, 6);
  EXPECT_OK(good.session->start(2));
  Outcome before = outcomeOf(*good.session, 2);
  bad.data.x[(2 * 2 + 1) * TOY_ROWS * TOY_COLUMNS] = NAN;
  EXPECT_OK(bad.session->start(6));
  double loss = 0;
  expectPart(bad.session->waitLoss(5, loss), Code::User,
             "step 2, micro-batch 1, layer 1: the loss is nan");
  EXPECT_EQ(bad.session->completedSteps(), 2u);
  EXPECT_TRUE(outcomeOf(*bad.session, 2) == before);
}

TEST(Cuda, ReportsAndTraces) {
  NEEDS_GPUS(1);
  SessionOptions sessionOptions;
  sessionOptions.trace = true;
  Running running(onGpus(toy(1, 1, 2)), 3, sessionOptions);
  EXPECT_OK(running.session->start(3));
  SessionReport report;
  EXPECT_OK(running.session->report(report));
  uint64_t copied = 0;
  for (const LaneReport &lane : report.lanes) {
    copied += lane.copiedBytes;
    EXPECT_LE(lane.busySeconds, report.seconds * 1.01) << lane.name;
  }
  EXPECT_EQ(copied, report.uploadedBytes + report.downloadedBytes);
  EXPECT_GT(report.lanes[0].busySeconds, 0);
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].arena, running.program->table().device_bytes());
  EXPECT_GE(report.devices[0].workspace, 32u << 20);
  EXPECT_GT(report.devices[0].total, report.devices[0].arena);
  EXPECT_OK(running.session->writeTrace(running.folder / "trace.json"));
  std::string trace = readBytes(running.folder / "trace.json");
  EXPECT_NE(trace.find("\"name\":\"forward layer 0 r0 "
                       "mb0\",\"cat\":\"Launch\",\"pid\":0,\"tid\":0"),
            std::string::npos);
  // Device times and host times are of one clock: nothing begins before the
  // step does.
  EXPECT_EQ(trace.find("\"ts\":-"), std::string::npos);
}

// Machine code where there is some for this GPU that the driver takes, else the
// PTX.
TEST(Cuda, TakesMachineCodeThatFits) {
  NEEDS_GPUS(1);
  std::string capability = listDevices();
  size_t at = capability.find("compute capability ");
  ASSERT_NE(at, std::string::npos);
  char major = capability[at + 19], minor = capability[at + 21];
  std::string own = std::string("sm_") + major + minor,
              older = std::string("sm_") + major + "0",
              newer = std::string("sm_") + major + "9";
  TemporaryFolder folder;
  writeToy(folder, onGpus(toy(1, 1, 1)));
  auto opened = [&](std::initializer_list<const char *> archs,
                    bool damaged = false) {
    program::ProgramT table = toyProgram(onGpus(toy(1, 1, 1)));
    for (const char *arch : archs) {
      auto cubin = std::make_unique<program::CubinT>();
      cubin->arch = arch;
      if (damaged) {
        cubin->code = std::make_unique<program::BlobT>();
        cubin->code->offset = cubin->code->length = 1;
      }
      table.device_code[0]->cubins.push_back(std::move(cubin));
    }
    writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
    std::unique_ptr<Program> program;
    std::unique_ptr<Session> session;
    EXPECT_OK(Program::load(folder / "toy.rondo", program));
    EXPECT_OK(Session::open(*program, {}, session));
    SessionReport report;
    EXPECT_OK(session->report(report));
    return report.devices[0].code;
  };
  const char *ptx = "PTX for sm_80, compiled by the driver";
  EXPECT_EQ(opened({}), ptx);
  EXPECT_EQ(opened({older.c_str()}), "machine code for " + older);
  EXPECT_EQ(opened({"sm_10", older.c_str(), own.c_str(), "sm_200"}),
            "machine code for " + own);
  EXPECT_EQ(opened({(own + "a").c_str()}), "machine code for " + own + "a");
  EXPECT_EQ(opened({"sm_10", "sm_200", "nonsense", ""}), ptx);
  if (minor != '9') {
    EXPECT_EQ(opened({newer.c_str(), (newer + "a").c_str()}), ptx);
  }
  EXPECT_EQ(opened({own.c_str()}, /*damaged=*/true), ptx);
}

TEST(Cuda, SaysWhatTheCodeLacks) {
  NEEDS_GPUS(1);
  TemporaryFolder folder;
  writeToy(folder, onGpus(toy(1, 1, 1)));
  auto open = [&](program::ProgramT table) {
    writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
    std::unique_ptr<Program> program;
    EXPECT_OK(Program::load(folder / "toy.rondo", program));
    std::unique_ptr<Session> session;
    return Session::open(*program, {}, session);
  };
  program::ProgramT table = toyProgram(onGpus(toy(1, 1, 1)));
  table.device_code[0]->arch = "sm_999";
  expectPart(open(std::move(table)), Code::Device,
             "its code is for sm_999, but ");
  table = toyProgram(onGpus(toy(1, 1, 1)));
  table.entries[1]->calls[1]->gpu_symbol = "no_loss";
  expectPart(open(std::move(table)), Code::User,
             "node 'node_square' (kernel 'no_loss'): the program's code lacks "
             "kernel 'no_loss'");
  table = toyProgram(onGpus(toy(1, 1, 1)));
  table.entries[1]->calls[1]->gpu_symbol = "";
  expectPart(open(std::move(table)), Code::User, "has no kernel for GPUs");
  table = toyProgram(onGpus(toy(1, 1, 1)));
  table.entries[1]->calls[1]->shared_bytes = 1 << 20;
  expectPart(open(std::move(table)), Code::Device,
             "needs 1048576 bytes of shared memory a block");
  table = toyProgram(onGpus(toy(1, 1, 1)));
  table.device_bytes = uint64_t(1) << 45;
  expectPart(open(std::move(table)), Code::Device,
             "35184372088832 bytes (32.0 TiB) are planned");
  table = toyProgram(onGpus(toy(1, 1, 1)));
  table.entries[0]->calls[0]->gemm->type_c = program::ElementType::BF16;
  table.entries[0]->calls[0]->node = "node_product";
  expectPart(open(std::move(table)), Code::Device,
             "node 'node_product': cuBLASLt has no product of");
  ToyOptions many = onGpus(toy(1000, 1, 1));
  many.rotate = false;
  expectPart(open(toyProgram(many)), Code::Device,
             "the program wants 1000 GPUs");
}

TEST(Cuda, TheWatchdogSaysWhoWaitsForWhat) {
  NEEDS_GPUS(1);
  TemporaryFolder folder;
  ToyOptions options = onGpus(toy(1, 1, 1));
  writeToy(folder, options);
  program::ProgramT table = toyProgram(options);
  auto sleep = std::make_unique<program::CallT>();
  sleep->symbol = "sleep_ms";
  sleep->extent = 900;
  table.entries[0]->calls.push_back(std::move(sleep));
  addDeviceCode(table);
  writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
  std::unique_ptr<Program> program;
  EXPECT_OK(Program::load(folder / "toy.rondo", program));
  SessionOptions sessionOptions;
  sessionOptions.watchdogSeconds = 0.2;
  std::unique_ptr<Session> session;
  EXPECT_OK(Session::open(*program, sessionOptions, session));
  ToyData data = toyData(options, 1);
  EXPECT_OK(session->setInput("x", program::ElementType::F32,
                              std::vector<int64_t>{4, TOY_COLUMNS},
                              data.x.data()));
  EXPECT_OK(session->setInput("labels", program::ElementType::I64,
                              std::vector<int64_t>{4}, data.labels.data()));
  EXPECT_OK(session->start(1));
  double loss = 0;
  Status status = session->waitLoss(0, loss);
  for (const char *part :
       {"no operation ended within 0.2 seconds", "'forward layer 0 r0 mb0'",
        "is running", "waits for 'forward layer 0 r0 mb0'"})
    expectPart(status, Code::Device, part);
}

// A kernel that writes where nothing is takes the process's context along: run
// by the next test, in a process of its own.
TEST(Cuda, DISABLED_Fault) {
  TemporaryFolder folder;
  ToyOptions options = onGpus(toy(testGpus(), 1, 1));
  writeToy(folder, options);
  program::ProgramT table = toyProgram(options);
  table.entries[0]->calls[1]->gpu_symbol = "fault";
  writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
  std::unique_ptr<Program> program;
  EXPECT_OK(Program::load(folder / "toy.rondo", program));
  std::unique_ptr<Session> session;
  Status opened = Session::open(*program, {}, session);
  ASSERT_TRUE(opened.ok()) << opened.message();
  ToyData data = toyData(options, 4);
  auto samples = (int64_t)data.samples;
  EXPECT_OK(session->setInput("x", program::ElementType::F32,
                              std::vector<int64_t>{samples, TOY_COLUMNS},
                              data.x.data()));
  EXPECT_OK(session->setInput("labels", program::ElementType::I64,
                              std::vector<int64_t>{samples},
                              data.labels.data()));
  EXPECT_OK(session->start(4));
  double loss = 0;
  Status status = session->waitLoss(3, loss);
  expectPart(status, Code::Device, "step 0: 'forward layer 0 r0 mb0' (op ");
  expectPart(status, Code::Device, "node 'node_linear0'): GPU 0 (");
  expectPart(status, Code::Device, "CUDA_ERROR_");
  // The state is still that of the beginning.
  EXPECT_EQ(session->completedSteps(), 0u);
  EXPECT_EQ(read(*session, "val_1", 0, kToyWeight), toyWeights(kToyWeight, 1));
}

TEST(Cuda, AFaultNamesTheOperation) {
  NEEDS_GPUS(1);
  std::string self = std::filesystem::read_symlink("/proc/self/exe").string(),
              output;
  // What a failed context holds goes with its process: no leak, whatever a
  // sanitizer says.
  // The second time with a host that issues slower than the GPU fails: other
  // calls tell of the fault before its own does (only the tests' driver is so
  // slow).
  for (std::string slow : {"", "RONDO_FAKE_ISSUING=5000 "}) {
    output.clear();
    std::FILE *run = popen((slow + "ASAN_OPTIONS=detect_leaks=0 '" + self +
                            "' --gtest_filter=Cuda.DISABLED_Fault "
                            "--gtest_also_run_disabled_tests 2>&1")
                               .c_str(),
                           "r");
    ASSERT_TRUE(run);
    for (char line[512]; std::fgets(line, sizeof line, run);)
      output += line;
    EXPECT_EQ(pclose(run), 0) << output;
    EXPECT_NE(output.find("[  PASSED  ] 1 test"), std::string::npos) << output;
  }
}
