//===- NNInterfaces.td - nn op interfaces ------------------*- tablegen -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_NN_NNINTERFACES_TD
#define RONDO_DIALECT_NN_NNINTERFACES_TD

include "mlir/IR/OpBase.td"

def NN_DifferentiableOp : OpInterface<"DifferentiableOp"> {
  let cppNamespace = "::rondo::nn";
  let description = [{
    An op with a vector-Jacobian product. Ops without a derivative (comparisons,
    integer ops, iota) do not implement it: their operands get no cotangent.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the cotangents of the operands from the cotangents of the results.
        `cotangents[i]` has result i's type, or is null when nothing flows back.
        `wanted[j]` says whether operand j's cotangent is needed. Appends one value per operand
        to `operandCotangents` (null where not wanted or zero). A cotangent has its operand's shape;
        its element type is the operand's, except that products whose cotangent may
        be a parameter's build it in f32 followed by one `nn.cast` (the gradient pass
        strips that cast: gradients are f32).
      }], "::llvm::LogicalResult", "buildVJP",
      (ins "::mlir::OpBuilder &":$builder,
           "::llvm::ArrayRef<::mlir::Value>":$cotangents,
           "::llvm::ArrayRef<bool>":$wanted,
           "::llvm::SmallVectorImpl<::mlir::Value> &":$operandCotangents)>,
  ];
}

def NN_CostOp : OpInterface<"CostOp"> {
  let cppNamespace = "::rondo::nn";
  let description = [{ Static cost of an op: see `rondo::nn::Cost`. }];
  let methods = [
    InterfaceMethod<"Floating point operations and bytes moved if run alone.",
      "::rondo::nn::Cost", "getCost", (ins)>,
  ];
}

def NN_EvaluableOp : OpInterface<"EvaluableOp"> {
  let cppNamespace = "::rondo::nn";
  let description = [{
    Reference evaluation, in double precision (or int64), used for folding and as
    the oracle of tests. Rounds each result to its element type unless
    `context.exact`, which keeps doubles (finite differences need that).
  }];
  let methods = [
    InterfaceMethod<"Computes the results; fails (with a message) only on invalid input such as an index out of range.",
      "::llvm::LogicalResult", "evaluate",
      (ins "const ::rondo::nn::EvaluationContext &":$context,
           "::llvm::ArrayRef<::rondo::nn::HostTensor>":$operands,
           "::llvm::SmallVectorImpl<::rondo::nn::HostTensor> &":$results)>,
  ];
}

def NN_CompositeOp : OpInterface<"CompositeOp"> {
  let cppNamespace = "::rondo::nn";
  let description = [{
    An op that equals a short list of primitive ops, bit for bit: kernels are generated
    from that list. (Products, attention, gather and scatter are primitives.)
  }];
  let methods = [
    InterfaceMethod<"Builds the primitives; returns one value per result.",
      "::llvm::SmallVector<::mlir::Value>", "buildDecomposition",
      (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

#endif // RONDO_DIALECT_NN_NNINTERFACES_TD
