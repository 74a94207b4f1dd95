//===- Model.h - From pipe IR to the planner and back -----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_PLANNING_MODEL_H
#define RONDO_PLANNING_MODEL_H

#include "mlir/IR/BuiltinOps.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/Pipe/Pipe.h"
#include "rondo/Scheduling/Problems.h"
#include "rondo/Support/Config.h"

namespace rondo::planning {

/// Where one parameter lies: its block and its places in the block's upload
/// copy and gradient, in bytes.
struct Placement {
  nn::ParameterOp parameter;
  uint32_t block = 0;
  uint64_t uploadOffset = 0;
  uint64_t uploadBytes = 0;
  int64_t gradientOffset = -1; ///< Also that of master and moments; -1: frozen.

  nn::ParameterOp getParameter() const { return parameter; }
  mlir::RankedTensorType getType() const {
    return mlir::cast<mlir::RankedTensorType>(getParameter().getType());
  }
};

/// What the planner needs to know of a module after `kernels`.
struct ModelInfo {
  scheduling::Model model;
  std::vector<Placement>
      placements; ///< Parameters that some layer uses, in order of first use.
  std::vector<pipe::LayerOp> layers; ///< By layer number.
  pipe::ChainOp chain;
};

/// Reads the chain, its bodies' kernels and its parameters. Emits a diagnostic
/// for what does not fit together.
llvm::FailureOr<ModelInfo> buildModel(mlir::ModuleOp module,
                                      const Config &config);

/// Writes `plan` as a pipe.plan at the builder's insertion point.
pipe::PlanOp writePlan(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::FlatSymbolRefAttr chain,
                       const scheduling::Model &model, uint32_t devices,
                       const scheduling::Plan &plan);
scheduling::Plan readPlan(pipe::PlanOp op);

/// A module that has a plan, as the planner reads it.
struct PlannedModel {
  Config config;
  pipe::PlanOp op;
  ModelInfo info;
  scheduling::Plan plan;
  scheduling::Machine machine;
};

/// Reads it, with a diagnostic naming what is missing; `phase` makes the plan.
llvm::FailureOr<PlannedModel> readPlannedModel(mlir::ModuleOp module,
                                               llvm::StringRef phase);

/// The only op of its kind in the module, or a diagnostic naming the phase that
/// makes it.
template <typename OpTy>
llvm::FailureOr<OpTy> getOnly(mlir::ModuleOp module, llvm::StringRef phase) {
  auto ops = module.getOps<OpTy>();
  if (ops.empty() || std::next(ops.begin()) != ops.end()) {
    module.emitError() << "needs exactly one " << OpTy::getOperationName()
                       << "; phase `" << phase << "` makes it";
    return mlir::failure();
  }
  return *ops.begin();
}

} // namespace rondo::planning

#endif // RONDO_PLANNING_MODEL_H
