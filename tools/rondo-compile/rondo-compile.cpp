//===- rondo-compile.cpp - Compiles an ONNX model -------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Pipelines/CompileMain.h"

int main(int argc, char **argv) { return rondo::compileMain(argc, argv); }
