//===- PartitionTest.cpp - Stages against every other cut -----------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestChain.h"
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace rondo::scheduling;
using namespace rondo::scheduling::testing;

namespace {

std::string shapeOf(const Plan &plan) {
  std::string text;
  for (const Stage &stage : plan.stages)
    text += std::string(1, "FXB"[(size_t)stage.kind]) +
            std::to_string(stage.begin) + "-" + std::to_string(stage.end) + " ";
  return text;
}

/// All ways to cut [begin, end) into runs, in order.
void compositions(uint32_t begin, uint32_t end,
                  std::vector<std::pair<uint32_t, uint32_t>> &runs,
                  const std::function<void()> &visit) {
  if (begin == end)
    return visit();
  for (uint32_t next = begin + 1; next <= end; ++next) {
    runs.push_back({begin, next});
    compositions(next, end, runs, visit);
    runs.pop_back();
  }
}

/// Every valid sequence of stages.
void everyPlan(uint32_t layers, uint32_t firstBackward,
               const std::function<void(const std::vector<Stage> &)> &visit) {
  for (uint32_t fused = 0; fused < layers; ++fused) {
    std::vector<std::pair<uint32_t, uint32_t>> forward, backward;
    compositions(0, fused, forward, [&] {
      compositions(std::min(firstBackward, fused), fused, backward, [&] {
        std::vector<Stage> stages;
        auto add = [&](StageKind kind, uint32_t begin, uint32_t end) {
          Stage stage;
          stage.kind = kind;
          stage.begin = begin;
          stage.end = end;
          stages.push_back(stage);
        };
        for (auto [begin, end] : forward)
          add(StageKind::Forward, begin, end);
        add(StageKind::Fused, fused, layers);
        for (size_t i = backward.size(); i-- > 0;)
          add(StageKind::Backward, backward[i].first, backward[i].second);
        visit(stages);
      });
    });
  }
}

/// Each way to save memory with the plan's stages, where memory binds.
void everyWayToRun(Plan &plan, uint32_t firstBackward, bool binds,
                   const std::function<void()> &visit) {
  Stage &fused = *std::find_if(
      plan.stages.begin(), plan.stages.end(),
      [](const Stage &stage) { return stage.kind == StageKind::Fused; });
  uint32_t first = std::max(fused.begin, firstBackward);
  for (SlotBuffers buffers :
       {SlotBuffers{2, 2}, SlotBuffers{2, 1}, SlotBuffers{1, 1}})
    for (uint32_t rebuilt = 0;
         rebuilt == 0 || first + rebuilt + 1 <= fused.end - 1; ++rebuilt) {
      plan.buffers = buffers;
      fused.rebuilt = rebuilt;
      visit();
      if (!binds)
        return;
    }
}

/// The best value of the objective over all plans that fit exactly.
double bestOfAll(const Model &model, const PartitionProblem &problem,
                 const ChainOptions &options) {
  uint32_t firstBackward = 0;
  for (bool trains = false; !trains; ++firstBackward)
    for (const Parameter &parameter : model.layers[firstBackward].parameters)
      trains |= parameter.gradientOffset >= 0;
  --firstBackward;
  double best = std::numeric_limits<double>::infinity();
  everyPlan(
      (uint32_t)model.layers.size(), firstBackward,
      [&](const std::vector<Stage> &stages) {
        Plan plan;
        plan.stages = stages;
        plan.keep.assign(model.layers.size(), options.keep);
        plan.save.assign(model.layers.size(), options.save);
        everyWayToRun(plan, firstBackward, options.deviceLimit > 0, [&] {
          double cost =
              problem.predict(plan) * (1 + 1e-4 * (double)stages.size());
          if (cost >= best)
            return;
          if (options.deviceLimit) {
            SlotProblem{model, options.devices, options.rotate}.solve(plan);
            Schedule schedule;
            TransferProblem{model, problem.machine, plan}.solve(schedule);
            if (!MemoryProblem{options.deviceLimit, 0}.solve(schedule))
              return;
          }
          best = cost;
        });
      });
  return best;
}

} // namespace

TEST(Partition, NoCutIsBetterOnShortChains) {
  uint32_t bound = 0, infeasible = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Model model = randomModel(random, 5);
    ChainOptions options;
    options.devices = 1 + random() % 4;
    options.keep = (SaveSet)(random() % 3);
    options.save = options.keep == SaveSet::Input ? SaveSet::All : options.keep;
    options.deviceLimit = random() % 3 == 0 ? 0 : 8192 + random() % 40000;
    Machine machine = testMachine(options.devices);
    PartitionProblem problem{
        model,         machine, options.keep, options.save, options.deviceLimit,
        options.rotate};
    Plan plan;
    Outcome outcome = problem.solve(plan);
    double best = bestOfAll(model, problem, options);
    ASSERT_EQ((bool)outcome, best < std::numeric_limits<double>::infinity())
        << join(outcome);
    if (!outcome) {
      ++infeasible;
      continue;
    }
    EXPECT_NEAR(problem.predict(plan) * (1 + 1e-4 * (double)plan.stages.size()),
                best, 1e-9 * best)
        << shapeOf(plan);
    bound += options.deviceLimit > 0;
  }
  EXPECT_GT(bound, 20u);
  EXPECT_GT(infeasible, 5u);
}

TEST(Partition, GreedyStaysCloseToTheBest) {
  // More layers than are enumerated: greedy. It cannot be perfect, and is on
  // average.
  double sum = 0, worst = 0;
  uint32_t count = 0;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    ModelMaker maker;
    maker.model.microBatches = 4 + random() % 4;
    maker.model.rounds = 1 + random() % 2;
    maker.model.staleness = random() % 2;
    for (uint32_t l = 0; l < 7; ++l) {
      LayerSpec spec;
      spec.forwardTime = 500 + random() % 500;
      maker.layer(spec);
    }
    Model model = maker.make();
    ChainOptions options;
    options.devices = 2 + random() % 3;
    Machine machine = testMachine(options.devices);
    PartitionProblem problem{model, machine};
    Plan plan;
    ASSERT_TRUE(problem.solve(plan));
    double ratio = problem.predict(plan) *
                   (1 + 1e-4 * (double)plan.stages.size()) /
                   bestOfAll(model, problem, options);
    EXPECT_GE(ratio, 1 - 1e-9);
    sum += ratio;
    worst = std::max(worst, ratio);
    ++count;
  }
  EXPECT_LT(sum / count, 1.06);
  EXPECT_LT(worst, 1.25);
}

TEST(Partition, OneDeviceFusesEverything) {
  for (uint32_t layers : {1u, 4u, 30u}) {
    Model model = chainModel(layers);
    Machine machine = testMachine(1);
    PartitionProblem problem{model, machine};
    Plan plan;
    ASSERT_TRUE(problem.solve(plan));
    EXPECT_EQ(shapeOf(plan), "X0-" + std::to_string(layers) + " ");
    EXPECT_TRUE(problem.verify(plan));
  }
}

TEST(Partition, OneDeviceFusesEverythingInLittleMemory) {
  // 30 layers with 1 KiB of parameters and 2 KiB each of gradients and
  // products.
  ModelMaker maker;
  maker.model.microBatches = 4;
  maker.model.staleness = 1;
  for (uint32_t l = 0; l < 30; ++l) {
    LayerSpec spec;
    spec.products = {2048};
    maker.layer(spec);
  }
  Model model = maker.make();
  Machine machine = testMachine(1);
  auto planWith = [&](uint64_t limit) {
    PartitionProblem problem{model, machine, SaveSet::Input, SaveSet::Products,
                             limit};
    Plan plan;
    EXPECT_TRUE(problem.solve(plan));
    EXPECT_EQ(join(problem.verify(plan)), "");
    EXPECT_EQ(shapeOf(plan), "X0-30 ") << limit;
    return plan;
  };
  // Two slots' parameters and gradients, one slot's gradients, one slot's
  // both; then part of the layers is rebuilt.
  EXPECT_EQ(planWith(270000).buffers, (SlotBuffers{2, 2}));
  EXPECT_EQ(planWith(210000).buffers, (SlotBuffers{2, 1}));
  Plan plan = planWith(170000);
  EXPECT_EQ(plan.buffers, (SlotBuffers{1, 1}));
  EXPECT_EQ(plan.stages[0].rebuilt, 0u);
  plan = planWith(145000);
  EXPECT_EQ(plan.buffers, (SlotBuffers{1, 1}));
  EXPECT_GT(plan.stages[0].rebuilt, 0u);
  EXPECT_LT(plan.stages[0].rebuilt, 29u);
  EXPECT_NE(plan.reason.find("that rebuilds " +
                             std::to_string(plan.stages[0].rebuilt) +
                             " of them for backward and 0 backward stages on 1 "
                             "device, with buffers for one slot at a time"),
            std::string::npos)
      << plan.reason;
  // As few as make it fit.
  Schedule schedule;
  auto fits = [&] {
    SlotProblem{model, 1}.solve(plan);
    EXPECT_TRUE((TransferProblem{model, machine, plan}.solve(schedule)));
    return (bool)MemoryProblem{145000, 0}.solve(schedule);
  };
  EXPECT_TRUE(fits());
  --plan.stages[0].rebuilt;
  EXPECT_FALSE(fits());
}

TEST(Partition, TinyMemoryMakesManyStages) {
  Model model = chainModel(30);
  Machine machine = testMachine(2);
  size_t before = 0;
  bool grew = false;
  for (uint64_t limit : {0u, 200000u, 60000u, 30000u, 14000u}) {
    PartitionProblem problem{model, machine, SaveSet::Input, SaveSet::All,
                             limit};
    Plan plan;
    ASSERT_TRUE(problem.solve(plan)) << limit;
    EXPECT_TRUE(problem.verify(plan)) << limit;
    grew |= plan.stages.size() > before + 20;
    before = plan.stages.size();
  }
  EXPECT_EQ(before, 59u); // a stage for each layer and direction
  EXPECT_TRUE(grew || before > 30);
}

TEST(Partition, BackwardStopsWhereNothingTrains) {
  ModelMaker maker;
  for (uint32_t l = 0; l < 6; ++l) {
    LayerSpec spec;
    spec.trains = {l >= 2};
    maker.layer(spec);
  }
  Model model = maker.make();
  Machine machine = testMachine(1);
  // So little memory that every layer is a stage.
  PartitionProblem problem{model, machine, SaveSet::Input, SaveSet::All, 14000};
  Plan plan;
  ASSERT_TRUE(problem.solve(plan));
  EXPECT_TRUE(problem.verify(plan));
  EXPECT_EQ(plan.stages.back().begin, 2u);
  Plan further = plan;
  further.stages.back().begin = 1;
  further.stages.back().parameterBytes += 1024;
  EXPECT_EQ(join(problem.verify(further)),
            "stage " + std::to_string(plan.stages.size() - 1) +
                " goes backward through layer 'layer1', where nothing trains, "
                "nor before\n");
  plan.stages.pop_back();
  EXPECT_EQ(join(problem.verify(plan)),
            "no stage goes backward through layer 'layer" +
                std::to_string(plan.stages.back().begin - 1) + "'\n");
}

TEST(Partition, SaysWhatDoesNotFit) {
  Model model = chainModel(3);
  Machine machine = testMachine(2);
  PartitionProblem problem{model, machine, SaveSet::Input, SaveSet::All, 5000};
  Plan plan;
  Outcome outcome = problem.solve(plan);
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.infeasible);
  EXPECT_EQ(join(outcome),
            "no plan fits into 5000 bytes of device memory: the smallest one "
            "needs 8960 bytes. Layer 'layer1' alone, forward and backward, "
            "needs 5888 bytes (parameters 1024 bytes, gradients 2048 bytes, "
            "transferred values 1536 bytes, saved values and workspace 1280 "
            "bytes). Give more device memory, or make micro-batches smaller\n");
}

TEST(Partition, VerifierNamesWhatIsWrong) {
  Model model = chainModel(5);
  Machine machine = testMachine(2);
  PartitionProblem problem{model, machine};
  Plan good;
  ASSERT_TRUE(problem.solve(good));
  good.stages.clear();
  // By hand, so that the messages do not depend on the search.
  auto stage = [](StageKind kind, uint32_t begin, uint32_t end) {
    Stage stage;
    stage.kind = kind;
    stage.begin = begin;
    stage.end = end;
    uint64_t layers = end - begin;
    stage.parameterBytes = 1024 * layers;
    stage.gradientBytes = kind == StageKind::Forward ? 0 : 2048 * layers;
    stage.deviceBytes = 1 << 20;
    return stage;
  };
  good.stages = {stage(StageKind::Forward, 0, 2),
                 stage(StageKind::Forward, 2, 3), stage(StageKind::Fused, 3, 5),
                 stage(StageKind::Backward, 1, 3),
                 stage(StageKind::Backward, 0, 1)};
  ASSERT_TRUE(problem.verify(good)) << join(problem.verify(good));
  Plan plan = good;
  plan.stages[1].begin = 1;
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 1 begins at layer 1, but layer 2 is where the stage before "
            "left off\n");
  plan = good;
  plan.stages[3].end = 2;
  EXPECT_EQ(join(problem.verify(plan)), "stage 3 ends at layer 2, but layer 3 "
                                        "is where the stage before left off\n");
  plan = good;
  std::swap(plan.stages[2], plan.stages[3]);
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 2 goes backward before the loss\n");
  plan = good;
  plan.stages[2].end = 4;
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 2 is fused, but does not end with the loss layer\n");
  plan = good;
  plan.stages[1].begin = plan.stages[1].end;
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 1 holds no layers, or layers that do not exist\n");
  plan = good;
  plan.stages.push_back(stage(StageKind::Forward, 0, 1));
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 5 goes forward after the loss\n");
  plan = good;
  plan.stages = {stage(StageKind::Forward, 0, 5)};
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 0 goes forward through the loss layer, which only a fused "
            "stage can\nno stage runs the loss layer\n");
  plan = good;
  plan.keep.pop_back();
  EXPECT_EQ(join(problem.verify(plan)),
            "the plan does not say of each layer what is kept and saved\n");
  plan = good;
  plan.stages[0].parameterBytes = 4096;
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 0 says that it reads 4096 bytes of parameters, but its "
            "layers have 2048\n");
  plan = good;
  plan.stages.resize(2);
  EXPECT_EQ(join(problem.verify(plan)), "no stage runs the loss layer\n");
  plan = good;
  plan.stages[2].rebuilt = 2;
  plan.stages[3].rebuilt = 1;
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 2 rebuilds 2 layers, which only a fused stage does, and "
            "never the loss layer\nstage 3 rebuilds 1 layers, which only a "
            "fused stage does, and never the loss layer\n");
  plan = good;
  plan.stages[2].gradientBytes = 0;
  EXPECT_EQ(join(problem.verify(plan)),
            "stage 2 says that it makes 0 bytes of gradients, but 4096 are\n");
  plan = good;
  plan.stages[2].deviceBytes = 4096;
  EXPECT_EQ(join(problem.verify(plan)), "stage 2 says that it needs 4096 bytes "
                                        "on its device, but it holds 7168\n");
  plan = good;
  for (Stage &s : plan.stages)
    s.deviceBytes = 8000;
  EXPECT_EQ(
      join(PartitionProblem{model, machine, SaveSet::Input, SaveSet::All, 8191}
               .verify(plan)),
      "slots 0 and 2 follow each other on a device with 8192 bytes of "
      "parameters and gradients, the limit is 8191\n"
      "slots 2 and 4 follow each other on a device with 9216 bytes of "
      "parameters and gradients, the limit is 8191\n");
  plan.stages[1].deviceBytes = 10000;
  EXPECT_EQ(
      join(PartitionProblem{model, machine, SaveSet::Input, SaveSet::All, 9999}
               .verify(plan)),
      "stage 1 needs 10000 bytes on its device, the limit is 9999\n");
  // Of gradients there are buffers for one slot; forward stages have none.
  for (Stage &s : plan.stages)
    s.deviceBytes = 8000;
  plan.buffers = {2, 1};
  EXPECT_EQ(
      join(PartitionProblem{model, machine, SaveSet::Input, SaveSet::All, 8191}
               .verify(plan)),
      "slots 0 and 2 follow each other on a device with 8192 bytes of "
      "parameters and gradients, the limit is 8191\n");
}

TEST(Partition, PlansLargeModelsFast) {
  // 200 layers on 8 devices: near-linear, so far below a second even with every
  // check on.
  Model model = chainModel(200, 64, 1, 1, true);
  Machine machine = testMachine(8);
  for (uint64_t limit : {0u, 40000u, 14000u}) {
    PartitionProblem problem{model, machine, SaveSet::Input, SaveSet::All,
                             limit};
    Plan plan;
    ASSERT_TRUE(problem.solve(plan)) << limit;
    EXPECT_TRUE(problem.verify(plan)) << limit;
  }
}

TEST(Model, SaysWhatIsMalformed) {
  Machine machine = testMachine(1);
  auto complaint = [&](Model model) {
    return join(PartitionProblem{model, machine}.check());
  };
  Model good = chainModel(3);
  EXPECT_EQ(complaint(good), "");
  Model model = good;
  model.layers.clear();
  model.blocks.clear();
  EXPECT_EQ(complaint(model), "the model has no layers\n");
  model = good;
  model.staleness = 2;
  model.rounds = 0;
  EXPECT_EQ(complaint(model),
            "a step needs at least one micro-batch and one round\n"
            "staleness must be 0 or 1, not 2\n");
  model = good;
  model.layers[1].forward.arguments[0].bytes = 7;
  EXPECT_EQ(complaint(model),
            "layer 'layer1': entry forward: argument boundary 0 has 7 bytes, "
            "but the layer says 512\n");
  model = good;
  model.layers[1].forward.arguments[0].index = 3;
  EXPECT_EQ(complaint(model), "layer 'layer1': entry forward: argument "
                              "boundary 3 names nothing that the layer has\n");
  model = good;
  model.layers[1].forward.present = false;
  EXPECT_EQ(complaint(model), "layer 'layer1' lacks entry forward\n");
  model = good;
  model.layers[2].forwardBackward.present = false;
  EXPECT_EQ(complaint(model), "layer 'layer2' lacks entry forward_backward\n");
  model = good;
  auto &arguments = model.layers[1].backward[2].arguments;
  arguments.erase(std::find_if(arguments.begin(), arguments.end(), [](auto &a) {
    return a.role == Role::Gradient;
  }));
  EXPECT_EQ(complaint(model), "layer 'layer1': entry backward_all does not "
                              "produce the gradient of parameter 0\n");
  model = good;
  model.layers[1].parameters[0].offset = 512;
  EXPECT_EQ(complaint(model),
            "layer 'layer1': a parameter lies outside of its block 'block1'\n");
  model = good;
  for (Layer &layer : model.layers) {
    for (Parameter &parameter : layer.parameters)
      parameter.gradientOffset = -1;
    layer.cotangentBytes.clear();
    for (EntryCost *entry :
         {&layer.backward[1], &layer.backward[2], &layer.forwardBackward})
      std::erase_if(entry->arguments, [](const Argument &a) {
        return a.role == Role::Gradient || a.role == Role::Cotangent ||
               a.role == Role::CotangentOut;
      });
  }
  for (ParameterBlock &block : model.blocks)
    block.gradientBytes = 0;
  EXPECT_EQ(complaint(model), "no parameter of the model trains\n");
  model = good;
  model.countLabels = true;
  EXPECT_EQ(complaint(model), "micro-batches weigh by their labels, but the "
                              "label count has no inputs or no entry\n");
  model = good;
  model.layers[1].backward[2].present = false;
  Plan plan;
  EXPECT_EQ(join(PartitionProblem{model, machine}.solve(plan)),
            "layer 'layer1' lacks entry backward_all\n");
}
