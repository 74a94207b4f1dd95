//===- OutputFile.cpp - Files that appear whole or not at all -------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Runtime/OutputFile.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

using namespace rondo::runtime;

static Status unwritable(const std::string &path, const std::string &why) {
  return userError(path + ": cannot be written: " + why);
}

namespace {

/// Where a file is written, and under which name until it is whole.
struct Place {
  std::string target, temporary;
  mode_t mode = 0; ///< Of the file that is there now; 0: none is.
};

} // namespace

/// What a chain of symbolic links ends at, there or not. False: nowhere.
static bool followLinks(const std::string &path,
                        std::filesystem::path &target) {
  target = path;
  std::error_code error;
  for (int links = 0; std::filesystem::is_symlink(target, error); ++links) {
    std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (links == 40)
      return false;
    target = target.parent_path() / next;
  }
  return true;
}

/// Of a file that is there, device and inode; of one that is not, those of its
/// folder, and its name.
static bool identify(const std::string &path,
                     std::tuple<dev_t, ino_t, std::string> &identity) {
  std::filesystem::path target;
  struct stat status;
  if (path.empty() || !followLinks(path, target))
    return false;
  if (::stat(target.c_str(), &status) == 0) {
    identity = {status.st_dev, status.st_ino, ""};
    return true;
  }
  std::filesystem::path folder = target.parent_path();
  if (errno != ENOENT ||
      ::stat(folder.empty() ? "." : folder.c_str(), &status) != 0)
    return false;
  identity = {status.st_dev, status.st_ino, target.filename().string()};
  return true;
}

bool rondo::runtime::sameFile(const std::string &a, const std::string &b) {
  std::tuple<dev_t, ino_t, std::string> first, second;
  return identify(a, first) && identify(b, second) && first == second;
}

/// Through links to what they name, and only ever over a file: renaming would
/// replace a link, a pipe or a device itself.
static Status findPlace(const std::string &path, Place &place) {
  if (path.empty())
    return userError("a file without a name cannot be written");
  std::filesystem::path target;
  if (!followLinks(path, target))
    return unwritable(path, std::strerror(ELOOP));
  place.target = target.string();
  place.temporary = place.target + format(".%ld.tmp", (long)::getpid());
  struct stat status;
  if (::stat(place.target.c_str(), &status) != 0)
    return errno == ENOENT ? Status::success()
                           : unwritable(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode))
    return unwritable(path, "it exists and is not a regular file; name a file");
  place.mode = status.st_mode & 07777;
  // Renaming does not ask for this, users do.
  if (::access(place.target.c_str(), W_OK) != 0)
    return unwritable(path, std::strerror(errno));
  return Status::success();
}

Status rondo::runtime::checkOutputFile(const std::string &path) {
  Place place;
  if (Status status = findPlace(path, place); !status.ok())
    return status;
  // Only trying says all: permissions, a read-only file system, a name too
  // long.
  int file =
      ::open(place.temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return unwritable(path, std::strerror(errno));
  ::close(file);
  ::unlink(place.temporary.c_str());
  return Status::success();
}

Status
rondo::runtime::replaceFile(const std::string &path,
                            const std::function<int(std::FILE *)> &write) {
  Place place;
  if (Status status = findPlace(path, place); !status.ok())
    return status;
  std::FILE *file = std::fopen(place.temporary.c_str(), "wb");
  if (!file)
    return unwritable(path, std::strerror(errno));
  errno = 0;
  int error = write(file);
  bool failed = error != 0;
  if (!failed && (std::ferror(file) || std::fflush(file) != 0 ||
                  (place.mode && ::fchmod(::fileno(file), place.mode) != 0) ||
                  ::fsync(::fileno(file)) != 0)) {
    failed = true;
    error = errno;
  }
  if (std::fclose(file) != 0 && !failed) {
    failed = true;
    error = errno;
  }
  if (!failed &&
      std::rename(place.temporary.c_str(), place.target.c_str()) == 0)
    return Status::success();
  if (!failed)
    error = errno;
  ::unlink(place.temporary.c_str());
  return unwritable(path, std::strerror(error));
}

Status
rondo::runtime::writeFile(const std::string &path,
                          const std::function<void(std::FILE *)> &write) {
  return replaceFile(path, [&](std::FILE *file) {
    write(file);
    return 0;
  });
}
