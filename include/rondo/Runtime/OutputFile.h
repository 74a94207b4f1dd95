//===- OutputFile.h - Files that appear whole or not at all ----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_RUNTIME_OUTPUTFILE_H
#define RONDO_RUNTIME_OUTPUTFILE_H

#include "rondo/Runtime/Status.h"
#include <cstdio>
#include <functional>
#include <string>

namespace rondo::runtime {

/// Whether writeFile can be expected to work: the folder is there and takes
/// files, and what has the name now is a regular file that may be written.
/// Changes nothing. Code::User, with the reason.
Status checkOutputFile(const std::string &path);

/// Whether writing one of two paths replaces or changes the other, by device
/// and inode, through links of both kinds; also of files that are not there
/// yet.
bool sameFile(const std::string &a, const std::string &b);

/// Writes beside `path` and renames, so that a file of that name is always
/// whole: what was there before stays until then, and stays if anything fails.
/// Goes through symbolic links and keeps the permissions of a file that it
/// replaces. `write` gets an open stream.
Status writeFile(const std::string &path,
                 const std::function<void(std::FILE *)> &write);
/// The same where something beside the stream may fail: `write` returns 0, or
/// its errno.
Status replaceFile(const std::string &path,
                   const std::function<int(std::FILE *)> &write);

} // namespace rondo::runtime

#endif // RONDO_RUNTIME_OUTPUTFILE_H
