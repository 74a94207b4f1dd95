//===- ProgramVerifier.h - Whether a table is consistent --------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_LIB_RUNTIME_PROGRAMVERIFIER_H
#define RONDO_LIB_RUNTIME_PROGRAMVERIFIER_H

#include "rondo/Runtime/Program.h"
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rondo::runtime {

/// a + b <= limit, without overflow.
inline bool fits(uint64_t a, uint64_t b, uint64_t limit) {
  return a <= limit && b <= limit - a;
}

inline std::string quoted(const char *what, uint32_t index,
                          const flatbuffers::String *name) {
  return std::string(what) + " " + std::to_string(index) + " '" +
         std::string(text(name)) + "'";
}

/// Collects problems; everything is checked even when an earlier part is wrong,
/// as far as that is possible.
class ProgramVerifier {
public:
  ProgramVerifier(const program::Program &table, uint64_t fileBytes)
      : table(table), fileBytes(fileBytes) {}
  Status run();

private:
  [[gnu::format(printf, 2, 3)]] void fail(const char *pattern, ...);
  bool failed() const { return count != 0; }

  void checkShape();
  void checkBlob(const program::Blob *blob, const std::string &what);
  void checkBuffers();
  void checkBufferList(const flatbuffers::Vector<uint32_t> *buffers,
                       const std::string &what, uint64_t bytes,
                       program::Space space, bool pinnedToo);
  void checkInputs();
  void checkBlocks();
  void checkParameters();
  void checkWeightFiles();
  void checkEntries();
  void checkLabelEntry();
  void checkIndices(const program::Call &call, const std::string &what,
                    const std::function<void(uint32_t, uint64_t)> &touch);
  void checkReach(const program::Call &call, const std::string &what,
                  const std::function<void(uint32_t, uint64_t)> &touch);
  void checkCall(const program::Call &call, const std::string &what,
                 std::vector<uint64_t> &needed);
  /// Bytes of each address that a call of attention touches; none after a
  /// problem.
  std::vector<uint64_t> checkAttention(const program::Call &call,
                                       const std::string &what);
  void checkLaunchShape(const program::Call &call, const std::string &what);
  void checkOps();
  void checkOp(uint32_t index);
  bool checkOperand(const program::Operand &operand, const std::string &what);
  void checkSpaces(const program::Op &op, const std::string &what);
  void checkLaunch(const program::Op &op, const std::string &what);
  void checkStaging(const program::Op &op, const std::string &what);
  void checkUpdate(const program::Op &op, const std::string &what);
  /// The block that `op` alone updates, or null after an error.
  const program::Block *takeUpdated(const program::Op &op,
                                    const std::string &what);
  void checkOptimizer(const program::Op &op, const std::string &what);
  void checkUpdateScalars(const program::Op &op, const std::string &what);
  void checkDeviceUpdate(uint32_t index, const std::string &what);
  void checkPieces();
  void checkOrder();

  bool scalesLoss() const {
    return table.optimizer() && table.optimizer()->loss_scale() > 0;
  }
  bool roundsGradients() const {
    return table.gradient_transfer() == program::ElementType::BF16;
  }
  /// Whether the operand can hold the block's gradient.
  bool holdsGradient(const program::Op &op, uint32_t operand,
                     const program::Block &block) const {
    uint64_t bytes = operandBytes(op, operand), whole = block.gradient_bytes();
    return bytes >= whole || (roundsGradients() && 2 * bytes == whole);
  }
  uint32_t operandCount(const program::Op &op) const {
    return sizeOf(op.operands());
  }
  uint64_t operandBytes(const program::Op &op, uint32_t operand) const {
    return op.operands()->Get(operand)->bytes();
  }

  const program::Program &table;
  uint64_t fileBytes;
  uint32_t count = 0;
  std::string problems;
  std::vector<std::vector<uint64_t>>
      needed; ///< Per entry and argument: bytes that its calls touch.
  std::map<program::OpKind, uint32_t> kinds;
  std::vector<std::vector<uint32_t>>
      members;                 ///< Per block: its trainable parameters.
  std::set<int32_t> optimized; ///< Blocks with an Optimizer op, or scalars.
  /// What comes back of each block's updates on devices, in bytes: master,
  /// moments, upload copy.
  struct Ranges {
    std::vector<std::pair<uint64_t, uint64_t>> parts[4];
  };
  std::map<int32_t, Ranges> pieces;
};

} // namespace rondo::runtime

#endif // RONDO_LIB_RUNTIME_PROGRAMVERIFIER_H
