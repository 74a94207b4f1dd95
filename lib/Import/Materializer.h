//===- Materializer.h - Turns known values into constants -------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_IMPORT_MATERIALIZER_H
#define RONDO_LIB_IMPORT_MATERIALIZER_H

#include "Emitter.h"
#include "ModelFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

namespace rondo {

/// Replaces what the importer knows by what the IR shall say: constants,
/// iotas, frozen parameters; then erases what nothing uses.
///
/// A value that depends on neither inputs nor parameters becomes
/// * an `nn.constant` if it is known (`nn.iota` if it counts);
/// * an `nn.parameter` that points into the file, if it is a large initializer;
/// * an `nn.parameter` with a value, if it is a large table of floats: those
///   are evaluated here;
/// * and stays an op otherwise: masks, and what stretches a smaller value.
class Materializer {
public:
  /// `symbols`: names that are taken in `module`; new ones are added.
  Materializer(Emitter &emitter, ModelFile &file, mlir::ModuleOp module,
               llvm::StringSet<> &symbols)
      : emitter(emitter), file(file), module(module), symbols(symbols) {}

  /// Runs on a function whose terminator is in place.
  mlir::LogicalResult run(mlir::func::FuncOp function);

private:
  enum class Form { Keep, Constant, Initializer, Table };

  Form getForm(mlir::Value value);
  bool isMadeOfMasks(mlir::Value value);
  mlir::FailureOr<mlir::Value> replace(mlir::Value value, Form form,
                                       mlir::OpBuilder &builder);
  mlir::Value createConstant(mlir::Value value, mlir::OpBuilder &builder);
  mlir::Value readInitializer(mlir::Value value, mlir::OpBuilder &builder);
  mlir::Value readTable(mlir::Location loc, mlir::DenseElementsAttr values,
                        mlir::OpBuilder &builder);
  mlir::FailureOr<mlir::DenseElementsAttr> evaluateTable(mlir::Value value);
  std::string makeSymbol(llvm::StringRef name);

  Emitter &emitter;
  ModelFile &file;
  mlir::ModuleOp module;
  llvm::StringSet<> &symbols;
  llvm::DenseMap<mlir::Value, bool> masks;
  llvm::DenseMap<mlir::Value, mlir::Value> replacements;
  llvm::DenseMap<int, std::string> initializerSymbols;
  llvm::DenseMap<mlir::Attribute, std::string> tableSymbols;
};

} // namespace rondo

#endif // RONDO_LIB_IMPORT_MATERIALIZER_H
