//===- TransferTest.cpp - Everything an iteration does --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TransferCase.h"

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

TEST(Transfers, OneIterationFromEndToEnd) {
  // Two layers before the loss, recomputed: one stage for each direction, one
  // micro-batch.
  Case c(chainModel(3, 1), threeStages());
  EXPECT_EQ(
      c.names(),
      (std::vector<std::string>{
          "seed",
          "stage ids mb 0",
          "stage labels mb 0",
          "upload parameters of block0 for slot 0",
          "upload parameters of block1 for slot 0",
          "upload model input 'ids' mb 0 for slot 0",
          "upload parameters of block2 for slot 1",
          "forward layer0 mb 0",
          "forward layer1 mb 0",
          "download input 0 of layer 'layer2' mb 0",
          "upload input 0 of layer 'layer2' mb 0 for slot 1",
          "upload model input 'labels' mb 0 for slot 1",
          "upload seed mb 0 for slot 1",
          // the backward stage begins at layer 0, which has no inputs but `ids`
          "upload parameters of block0 for slot 2",
          "upload parameters of block1 for slot 2",
          "zero gradient of 'block2' by layer 'layer2'",
          "forward_backward layer2 mb 0",
          "download loss mb 0",
          "download cotangent of input 0 of layer 'layer2' mb 0",
          "download gradient of 'block2' by layer 'layer2'",
          "update block2",
          "loss",
          "upload model input 'ids' mb 0 for slot 2",
          "forward_all layer0 mb 0",
          // no one needs what layer1 sends on: its saved set alone is rebuilt,
          // before dy is there
          "rebuild_all layer1 mb 0",
          "upload cotangent of input 0 of layer 'layer2' mb 0 for slot 2",
          "zero gradient of 'block1' by layer 'layer1'",
          "backward_all layer1 mb 0",
          "download gradient of 'block1' by layer 'layer1'",
          "zero gradient of 'block0' by layer 'layer0'",
          "backward_all_nodx layer0 mb 0",
          "download gradient of 'block0' by layer 'layer0'",
          "update block1",
          "update block0",
      }));
  EXPECT_EQ(c.find("backward_all layer1 mb 0").entry, "body1::backward_all");
  // The operands are the entry's arguments: saved values, dy, parameters, dx,
  // gradients, scratch.
  EXPECT_EQ(c.operands(c.find("backward_all layer1 mb 0")),
            "stage 2: saved value 0 of layer 'layer1'; stage 2: saved value 1 "
            "of layer 'layer1'; "
            "activations up of 512 bytes #1; parameters of 1024 bytes #1; "
            "w:stage 2: cotangent of input 0 of layer 'layer1'; rw:gradients "
            "of 2048 bytes #1; "
            "w:stage 2: scratch of launch 2; ");
}

TEST(Transfers, FusedStageUploadsOnceAndKeepsOnTheDevice) {
  Case c(chainModel(3, 2), {stage(StageKind::Fused, 0, 3)});
  EXPECT_EQ(c.count("upload parameters"), 3u);
  EXPECT_EQ(c.count("download gradient"), 3u);
  EXPECT_EQ(c.count("download"), 3u + 2); // and the losses
  EXPECT_EQ(c.count("forward_all"), 4u);
  EXPECT_EQ(c.count("rebuild"), 0u);
}

TEST(Transfers, FusedStageRebuildsItsFirstLayers) {
  Stage fused = stage(StageKind::Fused, 0, 4);
  fused.rebuilt = 2;
  Case c(chainModel(4, 1), {fused});
  EXPECT_EQ(c.count("download"), 4u + 1); // gradients and the loss
  std::vector<std::string> launches;
  for (const Op &op : c.schedule.ops)
    if (op.kind == OpKind::Launch)
      launches.push_back(op.name);
  EXPECT_EQ(launches,
            (std::vector<std::string>{
                "forward layer0 mb 0", "forward layer1 mb 0",
                "forward_all layer2 mb 0", "forward_backward layer3 mb 0",
                "backward_all layer2 mb 0", "rebuild_all layer1 mb 0",
                "backward_all layer1 mb 0", "rebuild_all layer0 mb 0",
                "backward_all_nodx layer0 mb 0"}));
}

TEST(Transfers, ParametersStayForTheRoundsOfOneStage) {
  // On two devices slots 0 and 2 are the first one's.
  for (uint32_t devices : {1u, 2u})
    for (uint32_t buffers : {1u, 2u}) {
      Case c(chainModel(3, 2, 4, 1), {stage(StageKind::Fused, 0, 3)}, devices,
             SaveSet::Products, SaveSet::Products, {buffers, buffers});
      EXPECT_EQ(c.count("upload parameters"), 3u * devices);
      EXPECT_EQ(c.count("zero gradient"), 3u * 4);
      EXPECT_EQ(c.count("download gradient"), 3u * 4);
    }
}

TEST(Transfers, BuffersForOneSlotAreMirrored) {
  Case c(chainModel(3, 1, 1, 1), {stage(StageKind::Fused, 0, 3)}, 1,
         SaveSet::Products, SaveSet::Products, {1, 1});
  EXPECT_EQ(c.operands(c.find("upload parameters of block0 for slot 0")),
            "parameters of 'block0' even,parameters of 'block0' odd+1; "
            "w:parameters of 1024 bytes #0,parameters of 1024 bytes #2; ");
  EXPECT_EQ(c.operands(c.find("zero gradient of 'block0' by layer 'layer0'")),
            "w:gradients of 2048 bytes #2; ");
  // The next slot's parameters come behind the launches whose buffers they
  // take.
  Case d(chainModel(3, 1), threeStages(), 1, SaveSet::Input, SaveSet::All,
         {1, 1});
  std::vector<std::string> names = d.names();
  auto at = [&](const std::string &name) {
    auto it = std::find(names.begin(), names.end(), name);
    EXPECT_NE(it, names.end()) << name;
    return it - names.begin();
  };
  EXPECT_LT(at("forward layer1 mb 0"),
            at("upload parameters of block2 for slot 1"));
  EXPECT_LT(at("forward_backward layer2 mb 0"),
            at("upload parameters of block0 for slot 2"));
}

TEST(Transfers, BuffersForOneSlotTurnAroundBehindTheFusedOne) {
  // The fused slot's last layer is the first to free its place.
  std::vector<Stage> stages = {stage(StageKind::Forward, 0, 3),
                               stage(StageKind::Fused, 3, 6),
                               stage(StageKind::Backward, 0, 3)};
  for (uint32_t staleness : {0u, 1u}) {
    Case c(chainModel(6, 1, 1, staleness), stages, 1, SaveSet::Products,
           SaveSet::Products, {1, 1});
    auto place = [&](const std::string &what) {
      std::string text = c.operands(c.find("upload parameters of " + what));
      return text.substr(text.find("w:"));
    };
    std::string a = "parameters of 1024 bytes #0",
                b = "parameters of 1024 bytes #2";
    bool late = staleness == 1;
    EXPECT_EQ(place("block0 for slot 0"),
              "w:" + (late ? a + "," + b : a) + "; ");
    EXPECT_EQ(place("block3 for slot 1"),
              "w:" + (late ? a + "," + b : a) + "; ");
    EXPECT_EQ(place("block5 for slot 1"),
              "w:" + (late ? b + "," + a : b) + "; ");
    EXPECT_EQ(place("block2 for slot 2"),
              "w:" + (late ? b + "," + a : b) + "; ");
  }
}

TEST(Transfers, SmallSharedParametersHaveBuffersForTwoSlots) {
  for (uint64_t bytes : {256u, 4096u}) {
    Model model = chainModel(5, 1, 1, 1);
    shareTable(model, bytes);
    Case c(model, {stage(StageKind::Fused, 0, 5)}, 1, SaveSet::Products,
           SaveSet::Products, {1, 1});
    EXPECT_EQ(c.operands(c.find("upload parameters of table for slot 0")),
              bytes == 256 ? "parameters of 'table'; w:shared parameters of "
                             "256 bytes #0,shared parameters of 256 bytes #1; "
                           : "parameters of 'table'; w:parameters of 4096 "
                             "bytes #0; ");
  }
}

TEST(Transfers, KeptSetsTravelAndAreNotRebuilt) {
  for (SaveSet keep : {SaveSet::Products, SaveSet::All}) {
    Case c(chainModel(3, 1), threeStages(), 1, keep, keep);
    const char *set = keep == SaveSet::Products ? "products" : "all";
    size_t values = keep == SaveSet::Products ? 1 : 2;
    EXPECT_EQ(c.count(std::string("forward_") + set), 2u);
    EXPECT_EQ(c.count("rebuild"), 0u);
    EXPECT_EQ(c.count("download saved value"), 2 * values);
    EXPECT_EQ(c.count("upload saved value"), 2 * values);
    // Backward from products reads the layer's inputs as well; layer 0 has
    // none.
    EXPECT_EQ(c.count("upload input 0 of layer 'layer1'"),
              keep == SaveSet::Products ? 1u : 0u);
  }
}

TEST(Transfers, CopiesAlternateWithStaleness) {
  Case late(chainModel(2, 1, 1, 1), {stage(StageKind::Fused, 0, 2)});
  EXPECT_EQ(late.schedule.period, 2u);
  // Iteration t reads copy t + 1; its update writes the same one again.
  EXPECT_EQ(late.operands(late.find("upload parameters of block0 for slot 0")),
            "parameters of 'block0' even,parameters of 'block0' odd+1; "
            "w:parameters of 1024 bytes #0,parameters of 1024 bytes #2; ");
  EXPECT_EQ(late.operands(late.find("zero gradient of 'block0' by layer "
                                    "'layer0'")),
            "w:gradients of 2048 bytes #1,gradients of 2048 bytes #3; ");
  EXPECT_EQ(late.operands(late.find("update block0")),
            "gradient of 'block0' by layer 'layer0'; master of 'block0'; "
            "w:master of 'block0'; rw:moment 0 of 'block0'; "
            "rw:moment 1 of 'block0'; w:parameters of 'block0' even,parameters "
            "of 'block0' odd+1; ");
  Model model = chainModel(2, 1, 1, 1);
  model.uploadIsMaster = true;
  Case master(model, {stage(StageKind::Fused, 0, 2)});
  EXPECT_EQ(master.operands(master.find("update block0")),
            "gradient of 'block0' by layer 'layer0'; parameters of 'block0' "
            "even,parameters of 'block0' odd; "
            "w:parameters of 'block0' even,parameters of 'block0' odd+1; "
            "rw:moment 0 of 'block0'; "
            "rw:moment 1 of 'block0'; ");
  Case now(chainModel(2, 1), {stage(StageKind::Fused, 0, 2)});
  EXPECT_EQ(now.schedule.period, 1u);
  EXPECT_EQ(now.operands(now.find("upload parameters of block0 for slot 0")),
            "parameters of 'block0'; w:parameters of 1024 bytes #0; ");
}

TEST(Transfers, AddsRoundsThenUsesInOrder) {
  Case c(chainModel(3, 1, 2, 0, true), threeStages());
  std::vector<std::string> adds;
  for (const Op &op : c.schedule.ops)
    if (op.kind == OpKind::Accumulate && op.block == 0)
      adds.push_back(op.name + (op.first ? " first" : ""));
  EXPECT_EQ(adds, (std::vector<std::string>{
                      "add gradient of 'block0' by layer 'layer2' round 1",
                      "add gradient of 'block0' by layer 'layer0' round 1",
                      "add use of block0 by layer2"}));
  // The first round's gradients land where the others are added.
  const Op &first =
      c.find("download gradient of 'block0' by layer 'layer2' round 0");
  const Op &add = c.find("add gradient of 'block0' by layer 'layer2' round 1");
  EXPECT_EQ(first.operands[1].buffers, add.operands[0].buffers);
  EXPECT_EQ(c.schedule.buffers[add.operands[0].buffers[0]].space,
            Space::Pinned);
  // Rounded ones do not: sums are f32.
  Model rounded = chainModel(3, 1, 2, 0, true);
  rounded.roundGradients = true;
  Case r(rounded, threeStages());
  EXPECT_TRUE(
      r.find("add gradient of 'block0' by layer 'layer2' round 0").first);
  EXPECT_EQ(r.verify(), "");
}

TEST(Transfers, RoundsGradientsBeforeTheyTravel) {
  Model model = chainModel(3, 2, 1, 0, true);
  model.roundGradients = true;
  Case c(model, threeStages());
  std::vector<std::string> names = c.names();
  auto last = std::find(names.begin(), names.end(), "backward_all layer1 mb 1");
  ASSERT_LT(last + 2, names.end());
  EXPECT_EQ(last[1], "round gradient of 'block1' by layer 'layer1'");
  EXPECT_EQ(last[2], "download gradient of 'block1' by layer 'layer1'");
  const Op &round = c.find(last[1]), &download = c.find(last[2]);
  EXPECT_EQ(round.operands[0].access, Access::ReadWrite);
  EXPECT_EQ(round.operands[0].buffers, download.operands[0].buffers);
  EXPECT_EQ(round.operands[0].bytes, 2 * download.operands[0].bytes);
  // Where it lands is what the update reads. What is added up is f32.
  EXPECT_EQ(c.find("update block1").operands[0].bytes,
            download.operands[1].bytes);
  EXPECT_TRUE(c.find("add use of block0 by layer0").first);
  EXPECT_FALSE(c.find("add use of block0 by layer2").first);
  EXPECT_EQ(c.find("update block0").operands[0].bytes,
            model.blocks[0].gradientBytes);
  std::erase_if(c.schedule.ops, [](const Op &op) {
    return op.kind == OpKind::Round && op.block == 1;
  });
  EXPECT_NE(
      c.verify().find(
          "takes bytes [0, 1024) of 'gradients of 2048 bytes #1' as operand 0, "
          "but needs [0, 2048)"),
      std::string::npos)
      << c.verify();
}

TEST(Transfers, ClipsOnceAllNormsAreThere) {
  Model model = chainModel(3, 1);
  model.clip = true;
  Case c(model, threeStages());
  std::vector<std::string> names = c.names();
  std::vector<std::string> tail(names.end() - 6, names.end());
  EXPECT_EQ(tail, (std::vector<std::string>{"norm of block1", "norm of block0",
                                            "clip", "update block0",
                                            "update block1", "update block2"}));
  EXPECT_EQ(c.operands(c.find("clip")),
            "squares of 'block0'; squares of 'block1'; squares of 'block2'; "
            "w:clip coefficient; ");
}

TEST(Transfers, ScalesTheLoss) {
  Model model = chainModel(2, 1);
  model.clip = model.scaleLoss = true;
  Case now(model, {stage(StageKind::Fused, 0, 2)});
  EXPECT_EQ(now.operands(now.find("seed")), "w:seed mb 0; loss scale; ");
  EXPECT_EQ(now.operands(now.find("clip")),
            "squares of 'block0'; squares of 'block1'; rw:loss scale; "
            "w:clip coefficient; ");
  model.staleness = 1;
  Case late(model, {stage(StageKind::Fused, 0, 2)});
  EXPECT_EQ(late.operands(late.find("seed")),
            "w:seed mb 0 even,seed mb 0 odd; loss scale even,loss scale odd; ");
  EXPECT_EQ(late.operands(late.find("clip")),
            "squares of 'block0'; squares of 'block1'; rw:loss scale "
            "even,loss scale odd; w:clip coefficient; ");
  // A scale that comes an iteration late.
  late.find("clip").operands[2].phase = 1;
  EXPECT_NE(late.verify().find("'clip' of iteration 0 finds loss scale"),
            std::string::npos)
      << late.verify();
}

TEST(Transfers, CountsLabelsBeforeTheSeeds) {
  Model model = chainModel(2, 1, 2);
  model.countLabels = true;
  model.countEntry = "labels::count";
  model.countInputs = {1};
  Case c(model, {stage(StageKind::Fused, 0, 2)});
  std::vector<std::string> names = c.names();
  names.resize(7);
  EXPECT_EQ(names, (std::vector<std::string>{
                       "stage ids mb 0 round 0", "stage labels mb 0 round 0",
                       "count labels mb 0 round 0", "stage ids mb 0 round 1",
                       "stage labels mb 0 round 1", "count labels mb 0 round 1",
                       "seed"}));
  EXPECT_EQ(c.operands(c.find("loss")),
            "loss mb 0 round 0; loss mb 0 round 1; label count mb 0 round 0; "
            "label count mb 0 round 1; ");
}

TEST(Transfers, PrefetchesTheNextSlotBetweenMicroBatches) {
  // Slot 2 is the next on slot 0's device (two devices): its two blocks go
  // between slot 0's two micro-batches.
  Case c(chainModel(3, 2), threeStages(), 2);
  std::vector<std::string> names = c.names();
  auto at = [&](const std::string &name) {
    auto it = std::find(names.begin(), names.end(), name);
    EXPECT_NE(it, names.end()) << name;
    return it - names.begin();
  };
  EXPECT_LT(at("upload model input 'ids' mb 0 for slot 0"),
            at("upload parameters of block0 for slot 2"));
  EXPECT_LT(at("upload parameters of block0 for slot 2"),
            at("forward layer0 mb 0"));
  EXPECT_LT(at("upload model input 'ids' mb 1 for slot 0"),
            at("upload parameters of block1 for slot 2"));
  EXPECT_LT(at("upload parameters of block1 for slot 2"),
            at("forward layer0 mb 1"));
}

TEST(Transfers, NamesAreForPeople) {
  for (uint32_t staleness : {0u, 1u})
    for (uint32_t devices : {1u, 2u}) {
      Model model = chainModel(4, 2, 2, staleness, true);
      model.clip = true;
      std::vector<Stage> stages = {stage(StageKind::Forward, 0, 2),
                                   stage(StageKind::Fused, 2, 4),
                                   stage(StageKind::Backward, 0, 2)};
      Case apart(model, stages, devices);
      for (Layer &layer : model.layers)
        layer.name = "m";
      for (ParameterBlock &block : model.blocks)
        block.name = "m";
      // The constructor expects no complaint.
      Case alike(model, stages, devices);
      ASSERT_EQ(alike.schedule.ops.size(), apart.schedule.ops.size());
      for (size_t i = 0; i < alike.schedule.ops.size(); ++i)
        for (size_t j = 0; j < alike.schedule.ops[i].operands.size(); ++j)
          EXPECT_EQ(alike.schedule.ops[i].operands[j].buffers,
                    apart.schedule.ops[i].operands[j].buffers);
    }
}

TEST(Transfers, ChecksThePlan) {
  Model model = chainModel(3, 1);
  Machine machine = testMachine(1);
  Plan plan;
  plan.stages = {stage(StageKind::Forward, 0, 3)};
  plan.keep.assign(3, SaveSet::Input);
  plan.save.assign(3, SaveSet::All);
  plan.slots = {{0, 0, 5, {0, 4}}};
  Schedule schedule;
  EXPECT_EQ(
      join(TransferProblem({model, machine, plan}).solve(schedule)),
      "stage 0: the loss layer belongs to the fused stage, and it alone\n"
      "slot 0 names a stage, device, round or micro-batch that does not exist\n"
      "slot 0 runs micro-batch 4 of 1\n");
  // A gap: no one makes what the fused stage reads.
  plan.stages = {stage(StageKind::Fused, 2, 3)};
  plan.slots = {{0, 0, 0, {0}}};
  EXPECT_EQ(join(TransferProblem({model, machine, plan}).solve(schedule)),
            "a stage reads input 0 of layer 'layer2', but no stage before "
            "makes it\n");
}
