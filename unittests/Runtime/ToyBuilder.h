//===- ToyBuilder.h - The tests' program, part by part ----------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_UNITTESTS_RUNTIME_TOYBUILDER_H
#define RONDO_UNITTESTS_RUNTIME_TOYBUILDER_H

#include "ProgramBuilder.h"

namespace rondo::runtime::testing {

using namespace rondo::program;
using rondo::runtime::testing::ToyOptions;

constexpr uint64_t kRows = TOY_ROWS, kColumns = TOY_COLUMNS;

/// Bytes at an address: some, and more for each of the range that is run.
Reach reach(int64_t fixed, int64_t step);

std::unique_ptr<CallT> kernel(const std::string &symbol, int64_t extent,
                              std::vector<Address> addresses,
                              std::vector<Reach> reaches);

/// Lays down buffers and ops one after the other.
class ToyBuilder {
public:
  explicit ToyBuilder(const ToyOptions &options) : options(options) {}
  ProgramT build();

private:
  uint32_t buffer(const std::string &name, Space space, int device,
                  uint64_t bytes);
  OpT &op(OpKind kind, Lane lane, int device, const std::string &name);
  static void operand(OpT &op, std::vector<uint32_t> buffers, uint64_t bytes,
                      int access, uint64_t offset = 0, uint32_t phase = 0);
  void copy(OpKind kind, Lane lane, int device, const std::string &name,
            std::vector<uint32_t> from, uint32_t phase,
            std::vector<uint32_t> to, uint64_t bytes);
  void describe();
  void entries();
  void stage();
  void round(uint32_t r);
  void update();
  void updateOnDevice(int block, bool waits, uint32_t coefficient);
  /// Of sums, masters and moments.
  Space stateSpace() const {
    return options.deviceUpdates ? Space::Pinned : Space::Host;
  }

  const ToyOptions &options;
  ProgramT table;
  uint64_t used[3] = {0, 0, 0};
  uint64_t element = 4;            ///< Of an upload.
  uint64_t bytes0 = 0, bytes1 = 0; ///< Uploads of the two blocks.
  std::vector<uint32_t> x, labels, counts, seeds, losses, h, dh,
      scales; ///< Pinned, by micro-batch of the step.
  uint32_t pinned0 = 0, pinned1 = 0, sum0 = 0, sum1 = 0; ///< Gradients.
  std::vector<uint32_t> upload0, upload1, master0, master1, moments0, moments1;
  uint32_t uploadPhase = 0;
};

} // namespace rondo::runtime::testing

#endif // RONDO_UNITTESTS_RUNTIME_TOYBUILDER_H
