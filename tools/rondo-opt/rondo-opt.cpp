//===- rondo-opt.cpp - Runs Rondo's passes on IR --------------------------===//
//
// Part of the Rondo project under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo-c/runtime.h"
#include "rondo/InitAll.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &out) {
    out << "rondo-opt " << rondo_runtime_version() << "\nLLVM "
        << LLVM_VERSION_STRING << "\n";
  });
  mlir::DialectRegistry registry;
  rondo::registerAllRondoDialects(registry);
  rondo::registerAllRondoPasses();
  mlir::registerTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Rondo's optimizer driver\n", registry));
}
