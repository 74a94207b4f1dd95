//===- CudnnMissing.cpp - In the place of cuDNN's graphs ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled where CMake does not find the headers of CudnnGraph.cpp.
//
//===----------------------------------------------------------------------===//

#include "CudnnGraph.h"

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

std::string Cudnn::describe() {
  return "no cuDNN: this Rondo was built without the headers of cuDNN, CUDA "
         "and cudnn-frontend (./rondo-dev setup fetches them)";
}

Status Cudnn::create(const CudaPool::Member &, std::unique_ptr<Cudnn> &) {
  return deviceError(describe() + "; " + kWithoutCudnn);
}
