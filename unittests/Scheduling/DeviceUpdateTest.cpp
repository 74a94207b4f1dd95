//===- DeviceUpdateTest.cpp - Updates on devices --------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestChain.h"
#include "rondo/Scheduling/Updates.h"
#include <functional>
#include <gtest/gtest.h>

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

namespace {

Model deviceModel(uint64_t updateBytes, uint32_t rounds = 1,
                  uint32_t staleness = 0) {
  Model model = chainModel(3, 2, rounds, staleness);
  model.updateOnDevice = true;
  model.updateBytes = updateBytes;
  return model;
}

/// What `kind` copies of `lane` bring, in order: "buffer@offset+bytes".
std::vector<std::string> copies(const Schedule &schedule, LaneKind lane,
                                int32_t block) {
  std::vector<std::string> result;
  for (const Op &op : schedule.ops) {
    if (op.lane != lane || op.block != block || op.kind > OpKind::Download)
      continue;
    const Operand &there = op.operands[op.kind == OpKind::Upload ? 0 : 1];
    result.push_back(schedule.buffers[there.buffers[0]].name + "@" +
                     std::to_string(there.offset) + "+" +
                     std::to_string(there.bytes));
  }
  return result;
}

/// The messages of `verify` after a change to a correct schedule.
std::string afterChange(const std::function<void(Schedule &)> &change,
                        uint64_t updateBytes = 1 << 20) {
  Model model = deviceModel(updateBytes);
  ChainResult result = runChain(model, {});
  EXPECT_TRUE(result.outcome) << result.failedAt << join(result.outcome);
  change(result.schedule);
  Machine machine = testMachine(1);
  return join(
      TransferProblem{model, machine, result.plan}.verify(result.schedule));
}

Op &find(Schedule &schedule, const std::string &name) {
  for (Op &op : schedule.ops)
    if (op.name == name)
      return op;
  ADD_FAILURE() << "no op '" << name << "'";
  return schedule.ops.front();
}

} // namespace

TEST(DeviceUpdates, StateTravelsInPieces) {
  // 512 elements a block, in bf16 and f32; a piece of 128 takes 18 bytes each.
  ChainResult whole = runChain(deviceModel(1 << 20), {});
  ASSERT_TRUE(whole.outcome) << whole.failedAt << join(whole.outcome);
  EXPECT_EQ(copies(whole.schedule, LaneKind::StateUp, 1),
            (std::vector<std::string>{
                "gradient of 'block1' by layer 'layer1'@0+2048",
                "master of 'block1'@0+2048", "moment 0 of 'block1'@0+2048",
                "moment 1 of 'block1'@0+2048",
                "scalars of the update of 'block1'@0+32"}));
  EXPECT_EQ(copies(whole.schedule, LaneKind::StateDown, 1),
            (std::vector<std::string>{"master of 'block1'@0+2048",
                                      "moment 0 of 'block1'@0+2048",
                                      "moment 1 of 'block1'@0+2048",
                                      "parameters of 'block1'@0+1024"}));
  ChainResult cut = runChain(deviceModel(2 * 128 * 18), {});
  ASSERT_TRUE(cut.outcome) << cut.failedAt << join(cut.outcome);
  std::vector<std::string> back = copies(cut.schedule, LaneKind::StateDown, 1);
  ASSERT_EQ(back.size(), 4u * 4);
  EXPECT_EQ(back[12], "master of 'block1'@1536+512");
  EXPECT_EQ(back[15], "parameters of 'block1'@768+256");
  // Two sets of buffers: a piece's master lies apart from the next one's.
  std::vector<uint32_t> buffers;
  uint64_t bytes = 0;
  for (const Op &op : cut.schedule.ops)
    if (op.kind == OpKind::DeviceUpdate)
      buffers.push_back(op.operands[1].buffers[0]);
  ASSERT_EQ(buffers.size(), 12u);
  EXPECT_NE(buffers[0], buffers[1]);
  EXPECT_EQ(buffers[0], buffers[2]);
  for (const Buffer &buffer : cut.schedule.buffers)
    if (buffer.name.find("optimizer's") == 0)
      bytes += buffer.bytes;
  EXPECT_EQ(bytes, 2u * (128 * 18 + 32));
}

TEST(DeviceUpdates, DevicesShareThePieces) {
  ChainOptions options;
  options.devices = 3;
  ChainResult result = runChain(deviceModel(2 * 128 * 18), options);
  ASSERT_TRUE(result.outcome) << result.failedAt << join(result.outcome);
  std::vector<uint32_t> pieces(3);
  for (const Op &op : result.schedule.ops)
    if (op.kind == OpKind::DeviceUpdate)
      ++pieces[(size_t)op.device];
  EXPECT_EQ(pieces, (std::vector<uint32_t>{4, 4, 4}));
}

TEST(DeviceUpdates, RandomModelsPassEveryVerifier) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Model model = randomModel(random);
    model.updateOnDevice = true;
    model.updateBytes = random() % 20000;
    ChainOptions options;
    options.devices = 1 + random() % 4;
    options.keep = options.save = SaveSet::Products;
    options.rotate = random() % 4 > 0;
    ChainResult result = runChain(model, options);
    ASSERT_TRUE(result.outcome)
        << result.failedAt << ": " << join(result.outcome);
  }
}

TEST(DeviceUpdates, EveryWaitOfACopyIsNeeded) {
  // As issue order has it nothing else orders them: without one of its waits, a
  // copy of state or an update races.
  Model model = deviceModel(2 * 128 * 18, 2, 1);
  model.clip = true;
  ChainOptions options;
  options.devices = 2;
  ChainResult result = runChain(model, options);
  ASSERT_TRUE(result.outcome) << result.failedAt << join(result.outcome);
  uint32_t removed = 0;
  for (size_t i = 0; i < result.schedule.ops.size(); ++i) {
    const Op &op = result.schedule.ops[i];
    if (op.lane != LaneKind::StateUp && op.lane != LaneKind::StateDown)
      continue;
    for (size_t w = 0; w < op.waits.size(); ++w) {
      Schedule changed = result.schedule;
      std::vector<Wait> &waits = changed.ops[i].waits;
      waits.erase(waits.begin() + (ptrdiff_t)w);
      ++removed;
      EXPECT_NE(join(FenceProblem().verify(changed)).find("nothing orders '"),
                std::string::npos)
          << op.name;
    }
  }
  EXPECT_GT(removed, 40u);
}

TEST(DeviceUpdates, TheReplayFindsWhatIsWrong) {
  EXPECT_EQ(afterChange([](Schedule &) {}), "");
  // A part of the state is left behind.
  EXPECT_NE(
      afterChange([](Schedule &schedule) {
        Op &op = find(schedule, "download master of block1");
        for (Operand &operand : op.operands)
          operand.bytes -= 256;
      })
          .find("'download master of block1' of iteration 0 copies another "
                "place than operand 1 of 'update block1'"),
      std::string::npos);
  // A piece comes back to another's place.
  EXPECT_NE(
      afterChange(
          [](Schedule &schedule) {
            find(schedule, "download master of block1 #1").operands[1].offset =
                1024;
          },
          2 * 128 * 18)
          .find("'download master of block1 #1' of iteration 0 brings "
                "parameters (1, 0, 0; step 1 round 0 mb 0; 0 added), bytes "
                "[512, +512) of a block, back to bytes [1024, +512)"),
      std::string::npos);
  // Copies change places.
  EXPECT_NE(
      afterChange([](Schedule &schedule) {
        Op &op = find(schedule, "upload moment 1 of block1");
        std::swap(op, *(&op - 1));
      })
          .find("'upload moment 1 of block1' of iteration 0 copies another "
                "place than operand 2 of 'update block1'"),
      std::string::npos);
  EXPECT_NE(
      afterChange([](Schedule &schedule) {
        find(schedule, "upload moment 1 of block1").block = 0;
      })
          .find("'update block1' of iteration 0 is next to 'upload moment "
                "1 of block1', which is not the copy of its operand 3"),
      std::string::npos);
  // A copy more, at the end.
  EXPECT_NE(
      afterChange([](Schedule &schedule) {
        schedule.ops.push_back(find(schedule, "download moment 0 of block1"));
      })
          .find("'download moment 0 of block1' of iteration 0 copies state, "
                "but no update is next to it"),
      std::string::npos);
  // An update of its own, with none.
  EXPECT_NE(afterChange([](Schedule &schedule) {
              schedule.ops.push_back(find(schedule, "update block1"));
            }).find("'update block1' of iteration 0 has no copies around it"),
            std::string::npos);
  // State that goes where parameters do.
  EXPECT_NE(afterChange([](Schedule &schedule) {
              find(schedule, "upload master of block1").lane =
                  LaneKind::ParameterUp;
            }).find("'upload master of block1' of iteration 0"),
            std::string::npos);
  // Another block's moments.
  EXPECT_NE(afterChange([](Schedule &schedule) {
              find(schedule, "upload moment 0 of block1").operands[0] =
                  find(schedule, "upload moment 0 of block0").operands[0];
            })
                .find("'upload moment 0 of block0' of iteration 0 begins with "
                      "moments (0"),
            std::string::npos);
  // The scalars of another.
  EXPECT_NE(afterChange([](Schedule &schedule) {
              find(schedule, "upload scalars of block1").operands[0] =
                  find(schedule, "upload scalars of block0").operands[0];
            }).find("needs scalars of an update (1"),
            std::string::npos);
  // Its piece begins elsewhere.
  EXPECT_NE(
      afterChange([](Schedule &schedule) {
        find(schedule, "update block1").piece = 256;
      })
          .find("'update block1' of iteration 0 finds bytes [0, +2048) as "
                "operand 0, but needs [256, +2048)"),
      std::string::npos);
  // Its loss comes later: streams may be full before it is issued.
  EXPECT_NE(afterChange([](Schedule &schedule) {
              Op loss = find(schedule, "loss");
              std::erase_if(schedule.ops, [](const Op &op) {
                return op.kind == OpKind::Loss;
              });
              schedule.ops.push_back(loss);
              // They count operations.
              for (Op &op : schedule.ops)
                op.waits.clear();
            })
                .find("'scalars of the update of block2' of iteration 0 is "
                      "issued before the step's loss, which it waits for"),
            std::string::npos);
  // What comes back goes over what the next iteration uploads too early.
  EXPECT_NE(afterChange([](Schedule &schedule) {
              Op &op = find(schedule, "download copy of block1");
              op.operands[1] =
                  find(schedule, "download copy of block0").operands[1];
            }).find("uploads parameters of block 'block"),
            std::string::npos);
}

TEST(DeviceUpdates, TheReplayWantsThemWhereTheModelDoes) {
  for (bool onDevice : {false, true}) {
    Model model = deviceModel(1 << 20);
    model.updateOnDevice = onDevice;
    ChainResult result = runChain(model, {});
    ASSERT_TRUE(result.outcome) << result.failedAt << join(result.outcome);
    model.updateOnDevice = !onDevice;
    Machine machine = testMachine(1);
    std::string message = join(
        TransferProblem{model, machine, result.plan}.verify(result.schedule));
    EXPECT_NE(
        message.find(onDevice ? "'update block2' of iteration 0 is of updates "
                                "on devices, but the host updates"
                              : "'update block2' of iteration 0 updates on the "
                                "host, but devices update"),
        std::string::npos)
        << message;
  }
}

TEST(DeviceUpdates, TheCostModelChooses) {
  Model model = chainModel(3);
  Machine machine = testMachine(1);
  // 2048 bytes of gradient a block, of upload copy 1024. The host: 2048 * 7 +
  // 1024; up: 2048 * 4 + 2 * 1024; down 2048 * 4 + 1024.
  auto chooses = [&](double host, double wire, uint32_t devices) {
    machine.hostBandwidth = host;
    machine.uploadBandwidth = machine.downloadBandwidth = wire;
    machine.devices = devices;
    return chooseUpdates(model, machine).onDevices();
  };
  EXPECT_TRUE(chooses(1, 1, 1));
  EXPECT_FALSE(chooses(1.6, 1, 1));
  EXPECT_TRUE(chooses(1.6, 1, 2));
  machine.name = "host";
  EXPECT_FALSE(chooses(1, 1, 1));
}
