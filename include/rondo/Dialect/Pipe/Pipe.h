//===- Pipe.h - The pipe dialect --------------------------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPE_PIPE_H
#define RONDO_DIALECT_PIPE_PIPE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "rondo/Dialect/NN/NN.h"

#include "rondo/Dialect/Pipe/PipeDialect.h.inc"
#include "rondo/Dialect/Pipe/PipeEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "rondo/Dialect/Pipe/PipeAttrs.h.inc"
#define GET_OP_CLASSES
#include "rondo/Dialect/Pipe/PipeOps.h.inc"

#endif // RONDO_DIALECT_PIPE_PIPE_H
