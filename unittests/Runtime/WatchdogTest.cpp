//===- WatchdogTest.cpp - Who notices that nothing happens ----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Training.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;

namespace {

/// A session whose first layer sleeps.
struct Sleeping {
  TemporaryFolder folder;
  std::unique_ptr<Program> program;
  ToyData data;
  std::unique_ptr<Session> session;

  Sleeping(int64_t milliseconds, double watchdogSeconds) {
    ToyOptions options = toy(2, 1, 1);
    writeToy(folder, options);
    program::ProgramT table = toyProgram(options);
    auto sleep = std::make_unique<program::CallT>();
    sleep->symbol = "sleep_ms";
    sleep->extent = milliseconds;
    table.entries[0]->calls.push_back(std::move(sleep));
    writeBytes(folder / "toy.rondo", sealedProgram(std::move(table)));
    EXPECT_OK(Program::load(folder / "toy.rondo", program));
    SessionOptions sessionOptions;
    sessionOptions.watchdogSeconds = watchdogSeconds;
    EXPECT_OK(Session::open(*program, sessionOptions, session));
    data = toyData(options, 1);
    EXPECT_OK(session->setInput("x", program::ElementType::F32,
                                std::vector<int64_t>{4, TOY_COLUMNS},
                                data.x.data()));
    EXPECT_OK(session->setInput("labels", program::ElementType::I64,
                                std::vector<int64_t>{4}, data.labels.data()));
  }
};

/// Whether this process has a thread of that name.
bool hasThread(const std::string &name) {
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    if (found == name)
      return true;
  }
  return false;
}

} // namespace

TEST(Watchdog, SaysWhoWaitsForWhat) {
  Sleeping running(900, 0.2);
  EXPECT_OK(running.session->start(1));
  double loss = 0;
  Status status = running.session->waitLoss(0, loss);
  EXPECT_EQ(status.code(), Code::Device);
  for (const char *part :
       {"no operation ended within 0.2 seconds", "--watchdog=SECONDS",
        "'forward layer 0 r0 mb0'", "node 'node_linear0'", "is running",
        "waits for 'forward layer 0 r0 mb0'", "which has done 0 steps"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  std::vector<float> values(kToyWeight);
  EXPECT_EQ(running.session->readParameter("val_1", 0, values).message(),
            status.message());
}

// One that has nothing to complain of says nothing, also while nobody asks for
// steps.
TEST(Watchdog, LeavesAnIdleSessionAlone) {
  SessionOptions sessionOptions;
  sessionOptions.watchdogSeconds = 0.3;
  Running running(toy(2, 1, 1), 2, sessionOptions);
  EXPECT_OK(running.session->start(1));
  EXPECT_OK(running.session->synchronize());
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_OK(running.session->start(1));
  EXPECT_OK(running.session->synchronize());
}

// A process that somebody stopped and let go on again is not stuck.
TEST(Watchdog, DoesNotCountWhileTheProcessIsStopped) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Sleeping running(1600, 1);
    EXPECT_OK(running.session->start(1));
    EXPECT_EQ(::write(ready[1], "", 1), 1);
    EXPECT_OK(running.session->synchronize());
    ::_exit(HasFailure());
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::usleep(100000);
  EXPECT_EQ(::kill(child, SIGSTOP), 0);
  ::usleep(1400000);
  EXPECT_EQ(::kill(child, SIGCONT), 0);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ready[0]);
}

// It watches unless one says otherwise.
TEST(Watchdog, WatchesByDefault) {
  for (auto [seconds, watches] :
       {std::pair(0.0, true), std::pair(5.0, true), std::pair(-1.0, false)}) {
    SessionOptions sessionOptions;
    sessionOptions.watchdogSeconds = seconds;
    Running running(toy(2, 1, 1), 1, sessionOptions);
    EXPECT_EQ(hasThread("Watchdog"), watches) << seconds;
  }
}
