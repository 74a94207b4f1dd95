//===- TransferCase.h - A model with its plan and schedule ------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_SCHEDULING_TRANSFERCASE_H
#define RONDO_UNITTESTS_SCHEDULING_TRANSFERCASE_H

#include "TestChain.h"
#include <gtest/gtest.h>

namespace rondo::scheduling::testing {

inline Stage stage(StageKind kind, uint32_t begin, uint32_t end) {
  Stage result;
  result.kind = kind;
  result.begin = begin;
  result.end = end;
  return result;
}

/// A model with its plan and schedule, not fenced.
struct Case {
  Model model;
  Machine machine;
  Plan plan;
  Schedule schedule;

  Case(Model aModel, std::vector<Stage> stages, uint32_t devices = 1,
       SaveSet keep = SaveSet::Input, SaveSet save = SaveSet::All,
       SlotBuffers buffers = {})
      : model(std::move(aModel)), machine(testMachine(devices)) {
    plan.stages = std::move(stages);
    plan.buffers = buffers;
    plan.keep.assign(model.layers.size(), keep);
    plan.save.assign(model.layers.size(), save);
    EXPECT_TRUE(SlotProblem({model, devices}).solve(plan));
    Outcome outcome = TransferProblem({model, machine, plan}).solve(schedule);
    EXPECT_TRUE(outcome) << join(outcome);
    EXPECT_EQ(verify(), "");
  }
  std::string verify() const {
    return join(TransferProblem({model, machine, plan}).verify(schedule));
  }
  Op &find(const std::string &name) {
    for (Op &op : schedule.ops)
      if (op.name == name)
        return op;
    ADD_FAILURE() << "no op '" << name << "'";
    return schedule.ops.front();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const Op &op : schedule.ops)
      result.push_back(op.name);
    return result;
  }
  /// "buffer,buffer+phase@offset" of each operand; w: written, rw: both.
  std::string operands(const Op &op) const {
    std::string text;
    for (const Operand &operand : op.operands) {
      text += operand.access == Access::Read    ? ""
              : operand.access == Access::Write ? "w:"
                                                : "rw:";
      for (uint32_t buffer : operand.buffers)
        text += schedule.buffers[buffer].name +
                (buffer == operand.buffers.back() ? "" : ",");
      if (operand.phase)
        text += "+" + std::to_string(operand.phase);
      if (operand.offset)
        text += "@" + std::to_string(operand.offset);
      text += "; ";
    }
    return text;
  }
  size_t count(const std::string &part) const {
    size_t number = 0;
    for (const Op &op : schedule.ops)
      number += op.name.find(part) != std::string::npos;
    return number;
  }
};

inline std::vector<Stage> threeStages() {
  return {stage(StageKind::Forward, 0, 2), stage(StageKind::Fused, 2, 3),
          stage(StageKind::Backward, 0, 2)};
}

} // namespace rondo::scheduling::testing

#endif // RONDO_UNITTESTS_SCHEDULING_TRANSFERCASE_H
