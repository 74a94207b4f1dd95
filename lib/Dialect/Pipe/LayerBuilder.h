//===- LayerBuilder.h - Makes bodies of cut operations ----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_DIALECT_PIPE_LAYERBUILDER_H
#define RONDO_LIB_DIALECT_PIPE_LAYERBUILDER_H

#include "rondo/Dialect/Pipe/Entries.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace rondo::pipe {

/// What a layer, or the label count, takes out of the loss function.
struct LayerParts {
  /// Operations, in the order in which the body gets them: each main operation
  /// behind the clones of others that it is the first to use.
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::SetVector<mlir::Value> boundary;
  llvm::SetVector<mlir::Value> sides; ///< Inputs of the function.
  /// Results of nn.read and of constants that become parameters, in order of
  /// first use, one for each parameter.
  llvm::SmallVector<mlir::Value> parameters;
  llvm::SmallVector<mlir::FlatSymbolRefAttr> parameterNames;
};

/// Collects and clones the operations of layers.
class LayerBuilder {
public:
  /// New parameters for constants of `tableElements` elements and more are put
  /// before `loss`.
  LayerBuilder(mlir::func::FuncOp loss, mlir::SymbolTable &symbols,
               int64_t tableElements)
      : loss(loss), symbols(symbols), tableElements(tableElements) {}

  /// Parts of the layer of `roots`; values of `boundary` are given to it.
  LayerParts collect(llvm::ArrayRef<mlir::Operation *> roots,
                     llvm::ArrayRef<mlir::Value> boundary);
  /// A body called `name` (made unique when inserted), detached, with one entry
  /// of the given kind that returns `results` under `role`.
  BodyOp build(llvm::StringRef name, EntryKind kind, const LayerParts &parts,
               llvm::ArrayRef<mlir::Value> results, Role role);
  /// The body if no body built so far is equal to it, else that one (and `body`
  /// is erased). Equal: operation by operation, but for locations.
  BodyOp share(BodyOp body);

private:
  void visit(mlir::Operation *op, LayerParts &parts,
             llvm::DenseSet<mlir::Operation *> &visited);
  mlir::FlatSymbolRefAttr getParameter(mlir::Operation *op);

  mlir::func::FuncOp loss;
  mlir::SymbolTable &symbols;
  int64_t tableElements;
  llvm::DenseMap<mlir::Attribute, mlir::FlatSymbolRefAttr> tables;
  llvm::SmallVector<BodyOp> bodies;
};

} // namespace rondo::pipe

#endif // RONDO_LIB_DIALECT_PIPE_LAYERBUILDER_H
