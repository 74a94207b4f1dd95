//===- CheckTest.cpp - What problems say of malformed input ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One change to something well-formed, and the message about it, for each
// message of the checks that every problem begins with.
//
//===----------------------------------------------------------------------===//

#include "TestChain.h"
#include <gtest/gtest.h>

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {

struct ModelSlip {
  void (*change)(Model &);
  const char *message;
};

std::string complaint(const Model &model) {
  Machine machine = testMachine(1);
  return join(PartitionProblem{model, machine}.check());
}

} // namespace

TEST(ModelCheck, NamesEverySlip) {
  const Model good = chainModel(3);
  ASSERT_EQ(complaint(good), "");
  const ModelSlip slips[] = {
      {[](Model &m) {
         auto &arguments = m.layers[1].forward.arguments;
         arguments.push_back(arguments[0]);
       },
       "layer 'layer1': entry forward: argument boundary 0 is listed twice\n"},
      {[](Model &m) { m.layers[1].rebuild[1].time = -1; },
       "layer 'layer1': entry rebuild_products has no valid time\n"},
      {[](Model &m) { m.layers[1].forwardSave[2].time = 0.0 / 0.0; },
       "layer 'layer1': entry forward_all has no valid time\n"},
      {[](Model &m) { m.layers[1].sides = {2}; },
       "layer 'layer1' reads model input 2, but there are 2\n"},
      {[](Model &m) {
         m.layers[1].parameters[0].block = 3;
         m.blocks[1].gradientBytes = 0;
       },
       "layer 'layer1' uses parameter block 3, but there are 3\n"},
      {[](Model &m) { m.layers[1].parameters[0].gradientOffset = 256; },
       "layer 'layer1': a parameter's gradient lies outside of its block "
       "'block1'\n"},
      {[](Model &m) { m.blocks[1].uploadBytes = 0; },
       "layer 'layer1': a parameter lies outside of its block 'block1'\n"
       "parameter block 'block1' is empty\n"},
      {[](Model &m) { m.layers[0].boundaryBytes = {512}; },
       "layer 'layer0' is the first, yet values enter it\n"},
      {[](Model &m) { m.layers[1].cotangentBytes.push_back(512); },
       "layer 'layer1' has more cotangents than entering values\n"},
      {[](Model &m) {
         m.blocks.push_back({"block3", 256, 1024, 0, {}});
       },
       "parameter block 'block3' has 1024 bytes of gradient, but no parameter "
       "in it trains\n"},
      {[](Model &m) {
         m.inputs.push_back({"mask", 0});
       },
       "model input 'mask' is empty\n"},
      {[](Model &m) {
         m.countLabels = true;
         m.countEntry = "labels::count";
         m.countInputs = {0, 4};
       },
       "the label count reads model input 4, but there are 2\n"},
      // Entries that do not produce what other layers need.
      {[](Model &m) {
         std::erase_if(m.layers[1].forward.arguments, [](const Argument &a) {
           return a.role == Role::Output;
         });
       },
       "layer 'layer1': entry forward does not produce output 0\n"},
      {[](Model &m) {
         std::erase_if(
             m.layers[1].backward[1].arguments,
             [](const Argument &a) { return a.role == Role::CotangentOut; });
       },
       "layer 'layer1': entry backward_products does not produce cotangent "
       "0\n"},
      {[](Model &m) {
         std::erase_if(m.layers[2].forwardBackward.arguments,
                       [](const Argument &a) { return a.role == Role::Loss; });
       },
       "layer 'layer2': entry forward_backward does not produce loss 0\n"},
      {[](Model &m) {
         std::erase_if(m.layers[1].rebuild[2].arguments, [](const Argument &a) {
           return a.role == Role::SavedOut && a.index == 1;
         });
       },
       "layer 'layer1': entry rebuild_all does not produce saved value 1\n"},
  };
  for (const ModelSlip &slip : slips) {
    Model model = good;
    slip.change(model);
    std::string said = complaint(model);
    EXPECT_TRUE(said.find(slip.message) != std::string::npos)
        << "expected: " << slip.message << "said: " << said;
  }
}

TEST(ModelCheck, NamesArgumentsByRole) {
  // An index that means nothing, for each role.
  const std::pair<Role, const char *> roles[] = {
      {Role::Boundary, "boundary"},   {Role::Saved, "saved"},
      {Role::Cotangent, "cotangent"}, {Role::Side, "side"},
      {Role::Parameter, "parameter"}, {Role::Seed, "seed"},
      {Role::Output, "output"},       {Role::Loss, "loss"},
      {Role::SavedOut, "saved-out"},  {Role::CotangentOut, "cotangent-out"},
      {Role::Gradient, "gradient"},   {Role::Scratch, "scratch"}};
  for (auto [role, name] : roles) {
    Model model = chainModel(3);
    model.layers[1].forward.arguments.push_back(argument(role, 9, 4));
    EXPECT_EQ(complaint(model),
              std::string("layer 'layer1': entry forward: argument ") + name +
                  " 9 names nothing that the layer has\n");
  }
}

TEST(ModelCheck, MachinesNeedDevices) {
  Model model = chainModel(3);
  Machine machine = testMachine(0);
  EXPECT_EQ(join(PartitionProblem{model, machine}.check()),
            "machine 'test' has no devices\n");
}

TEST(ModelCheck, PlansCoverEveryLayer) {
  Model model = chainModel(3, 1);
  Machine machine = testMachine(1);
  Plan plan;
  plan.keep.assign(2, SaveSet::Input);
  plan.save.assign(3, SaveSet::All);
  auto said = [&] {
    return join(TransferProblem{model, machine, plan}.check());
  };
  EXPECT_EQ(said(), "the plan says what to keep of 2 layers and what to save "
                    "of 3, but the model has 3\n");
  plan.keep = {SaveSet::Products, SaveSet::Input, SaveSet::Input};
  EXPECT_EQ(said(), "layer 'layer0' keeps 'products', but its backward reads "
                    "'all'\n");
  plan.keep.assign(3, SaveSet::Input);
  EXPECT_EQ(said(), "the plan has no slots\n");
  plan.stages = {{StageKind::Fused, 2, 5}};
  plan.slots = {{0, 0, 0, {0}}};
  EXPECT_EQ(said(), "stage 0 holds layers 2 to 5 of 3\n");
  model.layers[1].forwardSave[2].present = false;
  plan.stages = {{StageKind::Fused, 0, 3}};
  EXPECT_EQ(said(), "layer 'layer1' lacks entry forward_all\n");
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {

struct ScheduleSlip {
  void (*change)(Schedule &);
  const char *message;
};

/// Two devices: an upload, a launch on what it brought and on memory that only
/// launches touch, a step on the host.
Schedule smallSchedule() {
  auto buffer = [](const char *name, Space space) {
    Buffer result;
    result.name = name;
    result.space = space;
    result.bytes = 256;
    return result;
  };
  Schedule schedule;
  schedule.devices = 2;
  schedule.buffers = {
      buffer("pinned", Space::Pinned), buffer("host", Space::Host),
      buffer("device", Space::Device), buffer("scratch", Space::Device)};
  schedule.buffers[3].computeOnly = true;
  schedule.buffers[3].slot = 0;
  auto operand = [](uint32_t buffer, Access access) {
    Operand result;
    result.buffers = {buffer};
    result.bytes = 256;
    result.access = access;
    return result;
  };
  Op upload, launch, update;
  upload.name = "upload";
  upload.kind = OpKind::Upload;
  upload.lane = LaneKind::ActivationUp;
  upload.device = 0;
  upload.operands = {operand(0, Access::Read), operand(2, Access::Write)};
  launch.name = "launch";
  launch.device = 0;
  launch.slot = launch.round = launch.microBatch = 0;
  launch.operands = {operand(2, Access::Read), operand(3, Access::Write)};
  launch.waits = {{0, 0}};
  update.name = "update";
  update.kind = OpKind::Norm;
  update.lane = LaneKind::Update;
  update.operands = {operand(1, Access::Read)};
  schedule.ops = {upload, launch, update};
  return schedule;
}

} // namespace

TEST(ScheduleCheck, NamesEverySlip) {
  const Schedule good = smallSchedule();
  ASSERT_EQ(join(FenceProblem().check(good)), "");
  const ScheduleSlip slips[] = {
      {[](Schedule &s) {
         s.devices = 0;
         s.ops.clear();
       },
       "the schedule has no devices\n"},
      {[](Schedule &s) { s.rotation = 2; },
       "the schedule rotates by 2 of 2 devices\n"},
      {[](Schedule &s) { s.period = 3; },
       "the schedule says that it repeats after 3 iterations, but it does "
       "after "
       "1\n"},
      {[](Schedule &s) {
         s.buffers[0].computeOnly = true;
         s.ops.erase(s.ops.begin());
         s.ops[0].waits.clear();
       },
       "buffer 'pinned' is touched by the compute lane alone, but is not on a "
       "device\n"},
      {[](Schedule &s) { s.ops[2].device = 0; },
       "'update' is on a host lane, yet names a device\n"},
      {[](Schedule &s) { s.ops[1].device = -1; },
       "'launch' is on a device lane, but names no device\n"},
      {[](Schedule &s) { s.ops[1].device = 2; },
       "'launch' is on device 2 of 2\n"},
      {[](Schedule &s) { s.ops[0].operands[1].bytes = 128; },
       "'upload' is a copy: it needs a source and a destination of the same "
       "size\n"},
      {[](Schedule &s) { s.ops[1].operands[0].buffers.clear(); },
       "'launch' operand 0 names no buffer\n"},
      {[](Schedule &s) { s.ops[1].operands[0].buffers = {4}; },
       "'launch' operand 0 names buffer 4 of 4\n"},
      {[](Schedule &s) { s.ops[1].operands[1].offset = 128; },
       "'launch' operand 1 reaches over the end of 'scratch' (256 bytes)\n"},
      {[](Schedule &s) { s.ops[1].operands[0].buffers = {0}; },
       "'launch' operand 0 is 'pinned' in pinned memory, out of reach of lane "
       "compute\n"},
      {[](Schedule &s) { s.ops[2].operands[0].buffers = {2}; },
       "'update' operand 0 is 'device' in device memory, out of reach of lane "
       "update\n"},
      {[](Schedule &s) {
         std::swap(s.ops[0].operands[0], s.ops[0].operands[1]);
       },
       "'upload' operand 0 is on the wrong side of the copy\n"},
      {[](Schedule &s) { s.ops[0].operands[0].buffers = {1}; },
       "'upload' operand 0 is 'host', which is not pinned\n"},
      {[](Schedule &s) { s.ops[0].operands[1].buffers = {3}; },
       "'upload' operand 1 is 'scratch', which only the compute lane may "
       "touch\n"},
      {[](Schedule &s) {
         s.ops[1].waits = {{3, 0}};
       },
       "'launch' waits for operation 3 of 3\n"},
      {[](Schedule &s) {
         s.ops[1].waits = {{2, 0}};
       },
       "'launch' waits for 'update', which is issued later\n"},
  };
  for (const ScheduleSlip &slip : slips) {
    Schedule schedule = good;
    slip.change(schedule);
    EXPECT_EQ(join(FenceProblem().check(schedule)), slip.message);
  }
}

TEST(ScheduleCheck, RefusesWhatIsTooLargeToVerify) {
  Schedule schedule = smallSchedule();
  schedule.devices = schedule.period = 3u << 30;
  schedule.rotation = 1;
  EXPECT_EQ(join(FenceProblem().verify(schedule)),
            "a schedule of 3 operations that repeats after 3221225472 "
            "iterations is too large to verify\n");
}
