//===- TransferVerifierTest.cpp - What is refused of an iteration ---------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferCase.h"

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

TEST(Transfers, VerifierFindsSlips) {
  const Case good(chainModel(3, 2, 2, 1, true), threeStages(), 2);
  auto expectSlip = [&](const char *what, auto &&change,
                        const std::string &part) {
    Case c = good;
    change(c);
    std::string message = c.verify();
    EXPECT_NE(message.find(part), std::string::npos) << what << ":\n"
                                                     << message;
  };
  expectSlip(
      "an upload of the wrong copy",
      [](Case &c) {
        c.find("upload parameters of block1 for slot 0").operands[0].phase = 0;
      },
      "uploads parameters of block 'block1' after 1 updates, but the step must "
      "see 0");
  expectSlip(
      "micro-batches in the wrong order",
      [](Case &c) {
        std::swap(c.find("forward_backward layer2 mb 0 round 0"),
                  c.find("forward_backward layer2 mb 1 round 0"));
      },
      "'forward_backward layer2 mb 1 round 0' of iteration 0 finds");
  expectSlip(
      "a sum that overwrites",
      [](Case &c) {
        Op &op = c.find("add gradient of 'block1' by layer 'layer1' round 1");
        op.first = true;
        op.operands[0].access = Access::Write;
      },
      "'add gradient of 'block1' by layer 'layer1' round 1' of iteration 0 "
      "begins a sum with");
  expectSlip(
      "a download to another micro-batch's place",
      [](Case &c) {
        c.find("download input 0 of layer 'layer2' mb 1 round 0").operands[1] =
            c.find("download input 0 of layer 'layer2' mb 0 round 0")
                .operands[1];
      },
      "copies boundary (2, 0, 0; step 0 round 0 mb 1; 0 added), which is not "
      "what its tag, its lane or its direction says");
  expectSlip(
      "a missing update",
      [](Case &c) {
        std::erase_if(c.schedule.ops,
                      [](const Op &op) { return op.name == "update block1"; });
      },
      "block 'block1' is updated 0 times in iteration 0");
  expectSlip(
      "a missing zero",
      [](Case &c) {
        std::erase_if(c.schedule.ops, [](const Op &op) {
          return op.kind == OpKind::Zero &&
                 op.name ==
                     "zero gradient of 'block1' by layer 'layer1' round 1";
        });
      },
      "finds");
  expectSlip(
      "an entry that does not exist",
      [](Case &c) {
        c.find("forward layer0 mb 0 round 0").entry = "body0::forwards";
      },
      "launches 'body0::forwards', which layer 'layer0' does not have with "
      "these operands");
  expectSlip(
      "a loss joined twice",
      [](Case &c) {
        Op loss = c.find("loss");
        c.schedule.ops.push_back(loss);
      },
      "'loss' of iteration 0 does what 'loss' has done");
  expectSlip(
      "a missing loss",
      [](Case &c) {
        std::erase_if(c.schedule.ops,
                      [](const Op &op) { return op.kind == OpKind::Loss; });
      },
      "the step's loss is joined 0 times in iteration 0");
  expectSlip(
      "uses of a tied block in the wrong order",
      [](Case &c) {
        Op &op = c.find("add use of block0 by layer2");
        std::swap(op.operands[0].buffers, op.operands[1].buffers);
      },
      "which is not the order of additions");
}

TEST(Transfers, VerifierFindsSlipsOfOneOp) {
  Model clipped = chainModel(3, 2);
  clipped.clip = true;
  const Case good(clipped, threeStages(), 2);
  auto expectSlip = [&](auto &&change, const std::string &part) {
    Case c = good;
    change(c);
    std::string message = c.verify();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expectSlip(
      [](Case &c) {
        std::erase_if(c.schedule.ops,
                      [](const Op &op) { return op.name == "stage ids mb 0"; });
      },
      "'upload model input 'ids' mb 0 for slot 0' of iteration 0 copies what "
      "nothing wrote");
  expectSlip(
      [](Case &c) {
        c.find("upload parameters of block1 for slot 0").operands[0].buffers =
            c.find("upload parameters of block0 for slot 0")
                .operands[0]
                .buffers;
      },
      "begins with parameters (1, 0, 0; step 0 round 0 mb 0; 0 added) in "
      "'parameters of 'block0'', where another operation begins with "
      "parameters (0, 0, 0; ");
  expectSlip(
      [](Case &c) {
        // Another block's parameters where a launch reads.
        c.find("upload parameters of block1 for slot 0").operands[1].buffers =
            c.find("upload parameters of block0 for slot 0")
                .operands[1]
                .buffers;
      },
      ", but needs the parameters of block 'block0'");
  expectSlip(
      [](Case &c) {
        Op &op = c.find("forward_backward layer2 mb 1");
        op.operands[1].bytes -= 4;
        op.operands[2].access = Access::ReadWrite;
      },
      "'activations up of 256 bytes #2' as operand 1, but needs [0, 64)\n"
      "'forward_backward layer2 mb 1' of iteration 0 says that operand 2 is "
      "read and written, but it is read");
  expectSlip(
      [](Case &c) {
        for (Buffer &buffer : c.schedule.buffers)
          if (buffer.space == Space::Device)
            buffer.bytes += 256;
        for (const Argument &a : c.model.layers[0].forward.arguments)
          if (a.role == Role::Parameter)
            c.find("forward layer0 mb 0")
                .operands[(size_t)(&a -
                                   c.model.layers[0].forward.arguments.data())]
                .offset = 256;
      },
      "'forward layer0 mb 0' of iteration 0 takes bytes [256, 1280) of "
      "'parameters of 1024 bytes #0' as operand 1, but needs [0, 1024)");
  expectSlip(
      [](Case &c) {
        for (Buffer &buffer : c.schedule.buffers)
          if (buffer.space == Space::Device)
            buffer.bytes += 256;
        for (Operand &operand : c.find("forward_backward layer2 mb 0").operands)
          if (operand.access == Access::ReadWrite)
            operand.offset = 256;
      },
      "'forward_backward layer2 mb 0' of iteration 0 takes bytes [256, 2304) "
      "of 'gradients of 2048 bytes #0' as operand 6, but needs [0, 2048)");
  expectSlip(
      [](Case &c) {
        Op &clip = c.find("clip");
        clip.operands.erase(clip.operands.begin() + 2);
      },
      "'clip' of iteration 0 has 3 operands, but needs 4");
  expectSlip(
      [](Case &c) {
        Op &op = c.find("forward_backward layer2 mb 0");
        // Its last operand is workspace.
        op.operands.back().buffers = op.operands[1].buffers;
        for (Buffer &buffer : c.schedule.buffers)
          if (buffer.space == Space::Device)
            buffer.bytes += 4096;
      },
      "'forward_backward layer2 mb 0' of iteration 0 writes over its own "
      "operands: ");
  expectSlip([](Case &c) { c.find("update block1").lane = LaneKind::Staging; },
             "'update block1' of iteration 0 cannot run on lane stage");
  expectSlip([](Case &c) { c.find("forward layer0 mb 0").slot = 7; },
             "'forward layer0 mb 0' of iteration 0 names a layer, block, slot");
  expectSlip(
      [](Case &c) {
        c.find("zero gradient of 'block1' by layer 'layer1'").slot = 7;
      },
      "serves slot 7 of 3");
  expectSlip([](Case &c) { c.find("forward layer0 mb 0").device = 1; },
             "is on device 1, but slot 0 is on device 0");
  expectSlip([](Case &c) { c.find("forward layer0 mb 0").slot = 1; },
             "runs layer 'layer0', but slot 1 has the layers 2 to 2");
  expectSlip([](Case &c) { c.find("forward layer0 mb 0").duration = -1; },
             "'forward layer0 mb 0' has no valid time");
  expectSlip(
      [](Case &c) {
        c.find("download gradient of 'block1' by layer 'layer1'").block = 0;
      },
      "which is not what its tag, its lane or its direction says");
  expectSlip([](Case &c) { c.find("update block1").block = 7; },
             "'update block1' of iteration 0 names a layer, block, slot or "
             "micro-batch that does not exist, or has the wrong operands");
  expectSlip(
      [](Case &c) {
        Op &op = c.find("upload parameters of block1 for slot 0");
        op.kind = OpKind::PeerCopy;
        op.operands[0].buffers =
            c.find("upload parameters of block0 for slot 0")
                .operands[1]
                .buffers;
      },
      "is a peer copy, which plans do not have yet");
  expectSlip([](Case &c) { c.schedule.devices = c.schedule.period = 4; },
             "the schedule is for other devices than the plan");
}

TEST(Transfers, VerifierRefusesUpdatesOfFrozenBlocks) {
  ModelMaker maker;
  maker.model.name = "frozen";
  for (uint32_t l = 0; l < 3; ++l) {
    LayerSpec spec;
    spec.trains = {l >= 1};
    maker.layer(spec);
  }
  Case c(maker.make(), {stage(StageKind::Fused, 0, 3)});
  c.find("update block1").block = 0;
  EXPECT_EQ(c.verify(),
            "'update block1' of iteration 0 updates block 'block0', in which "
            "nothing trains\nblock 'block1' is updated 0 times in iteration "
            "0\n");
}
