//===- KernDialect.cpp - The kern dialect --------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Dialect/Kern/Kern.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo::kern;

#include "rondo/Dialect/Kern/KernDialect.cpp.inc"
#include "rondo/Dialect/Kern/KernEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/Kern/KernAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "rondo/Dialect/Kern/KernOps.cpp.inc"

void KernDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "rondo/Dialect/Kern/KernAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "rondo/Dialect/Kern/KernOps.cpp.inc"
      >();
}

LogicalResult
AccessAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t offset, ArrayRef<int64_t> strides,
                   ArrayRef<int64_t> guards) {
  if (guards.size() % 3)
    return emitError() << "guards are triples of an axis, a begin and an end, "
                          "but there are "
                       << guards.size() << " numbers";
  for (size_t i = 0; i < guards.size(); i += 3)
    if (guards[i] < 0 || guards[i] >= int64_t(strides.size()))
      return emitError() << "guard on axis " << guards[i]
                         << " of a domain of rank " << strides.size();
  return success();
}
