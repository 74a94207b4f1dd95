//===- NNDialect.cpp - The nn dialect -------------------------------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldInterface.h"
#include "rondo/Dialect/NN/NN.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace rondo::nn;

#include "rondo/Dialect/NN/NNDialect.cpp.inc"
#include "rondo/Dialect/NN/NNEnums.cpp.inc"
#include "rondo/Dialect/NN/NNInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/NN/NNAttrs.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "rondo/Dialect/NN/NNAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "rondo/Dialect/NN/NNOps.cpp.inc"
      >();
  addInterfaces<NNFoldInterface>();
}

Operation *NNDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                          Type type, Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (!elements || elements.getType() != type)
    return nullptr;
  return ConstantOp::create(builder, loc, elements);
}
