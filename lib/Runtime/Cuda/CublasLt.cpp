//===- CublasLt.cpp - Finding cuBLASLt ------------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"
#include <dlfcn.h>
#include <mutex>

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;

static Status open(CublasLt &blas) {
  void *library = nullptr;
  std::string errors;
  for (const char *name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
    if ((library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)))
      break;
    const char *error = ::dlerror();
    errors += (errors.empty() ? "" : "; ") + std::string(error ? error : name);
  }
  if (!library)
    return deviceError(
        "cuBLASLt, which the program's matrix products need, is missing: " +
        errors +
        "; install it (Debian: libcublas12, PyPI: nvidia-cublas) and give "
        "LD_LIBRARY_PATH its folder");
  std::string missing;
  auto find = [&](auto &member, const char *name) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(
        ::dlsym(library, name));
    if (!member)
      missing += std::string(missing.empty() ? "" : ", ") + name;
  };
#define RONDO_FIND(MEMBER, NAME, ...) find(blas.MEMBER, NAME);
  RONDO_CUBLASLT(RONDO_FIND)
#undef RONDO_FIND
  find(blas.statusName, "cublasLtGetStatusName");
  find(blas.version, "cublasLtGetVersion");
  if (!missing.empty())
    return deviceError("the cuBLASLt that was found lacks " + missing +
                       "; install version 12 or 13");
  return Status::success();
}

Status CublasLt::load(const CublasLt *&library) {
  static std::once_flag once;
  static CublasLt instance;
  static Status status;
  std::call_once(once, [] { status = open(instance); });
  library = &instance;
  return status;
}
