/*===- ToyShape.h - Sizes of the tests' model ----------------------*- C
-*-===*\
|*                                                                            *|
|* Part of the Rondo project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. See LICENSE for license information.                           *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef RONDO_UNITTESTS_RUNTIME_TOYSHAPE_H
#define RONDO_UNITTESTS_RUNTIME_TOYSHAPE_H

/* Samples of a micro-batch. */
#define TOY_ROWS 4
/* Width: a weight of its square has more elements than one chunk of 64 Ki. */
#define TOY_COLUMNS 264

#endif
