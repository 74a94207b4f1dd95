//===- Sched.h - The sched dialect ------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_SCHED_SCHED_H
#define RONDO_DIALECT_SCHED_SCHED_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "rondo/Dialect/Sched/SchedDialect.h.inc"
#include "rondo/Dialect/Sched/SchedEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/Sched/SchedAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "rondo/Dialect/Sched/SchedInterfaces.h.inc"
#include "rondo/Dialect/Sched/SchedTypes.h.inc"
#define GET_OP_CLASSES
#include "rondo/Dialect/Sched/SchedOps.h.inc"

#endif // RONDO_DIALECT_SCHED_SCHED_H
