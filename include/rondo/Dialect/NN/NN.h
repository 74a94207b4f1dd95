//===- NN.h - The nn dialect -----------------------------------*- C++ -*-===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_NN_H
#define RONDO_DIALECT_NN_NN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "rondo/Dialect/NN/HostTensor.h"

#include "rondo/Dialect/NN/NNDialect.h.inc"
#include "rondo/Dialect/NN/NNEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/NN/NNAttrs.h.inc"
#include "rondo/Dialect/NN/NNInterfaces.h.inc"
#define GET_OP_CLASSES
#include "rondo/Dialect/NN/NNOps.h.inc"

#endif // RONDO_DIALECT_NN_NN_H
