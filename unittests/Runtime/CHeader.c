/*===- CHeader.c - The C interface is C ------------------------------------===*\
|*                                                                            *|
|* Part of the Rondo project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "rondo-c/runtime.h"

/* Called by CApiTest.cpp: the number of inputs of a program, or -1. */
int rondo_test_count_inputs(const char *path) {
  rondo_program *program = NULL;
  rondo_program_info info = RONDO_INIT(rondo_program_info);
  rondo_error *error = rondo_program_load(path, &program);
  if (!error)
    error = rondo_program_get_info(program, &info);
  rondo_program_free(program);
  if (error) {
    rondo_error_free(error);
    return -1;
  }
  return (int)info.inputs;
}
