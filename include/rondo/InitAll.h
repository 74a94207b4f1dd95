//===- InitAll.h - Registration of all of Rondo -----------------*- C++ -*-===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_INITALL_H
#define RONDO_INITALL_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectRegistry.h"
#include "rondo/Conversion/Passes.h"
#include "rondo/Dialect/Kern/Passes.h"
#include "rondo/Dialect/NN/NN.h"
#include "rondo/Dialect/NN/Passes.h"
#include "rondo/Dialect/Pipe/Passes.h"
#include "rondo/Dialect/Sched/Passes.h"
#include "rondo/Planning/Passes.h"
#include "rondo/Target/Passes.h"

namespace rondo {

/// Registers every dialect that a phase's output may contain.
inline void registerAllRondoDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::math::MathDialect>();
  registry.insert<nn::NNDialect, pipe::PipeDialect, sched::SchedDialect,
                  kern::KernDialect>();
}

/// Registers every pass under its command-line name.
inline void registerAllRondoPasses() {
  nn::registerNNPasses();
  nn::registerRaisePipeline();
  pipe::registerPipePasses();
  kern::registerKernPasses();
  conversion::registerConversionPasses();
  conversion::registerKernelsPipeline();
  planning::registerPlanningPasses();
  sched::registerSchedPasses();
  target::registerTargetPasses();
}

} // namespace rondo

#endif // RONDO_INITALL_H
