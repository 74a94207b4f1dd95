//===- SchedDialect.cpp - Registration of the sched dialect ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/DialectImplementation.h"
#include "rondo/Dialect/Sched/Sched.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo::sched;

#include "rondo/Dialect/Sched/SchedDialect.cpp.inc"
#include "rondo/Dialect/Sched/SchedEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/Sched/SchedAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "rondo/Dialect/Sched/SchedTypes.cpp.inc"

void SchedDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "rondo/Dialect/Sched/SchedAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "rondo/Dialect/Sched/SchedTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "rondo/Dialect/Sched/SchedOps.cpp.inc"
      >();
}
