//===- Entries.h - Names and signatures of a body's entries -----*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What pipe.body's description says about entries, for those who read or write
// them.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_PIPE_ENTRIES_H
#define RONDO_DIALECT_PIPE_ENTRIES_H

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "rondo/Dialect/Pipe/Pipe.h"
#include <optional>

namespace rondo::pipe {

/// Attributes of an entry's arguments and results.
inline constexpr llvm::StringLiteral kRole = "pipe.role";
inline constexpr llvm::StringLiteral kIndex = "pipe.index";
/// Attributes of an entry.
inline constexpr llvm::StringLiteral kEntry = "pipe.entry";
inline constexpr llvm::StringLiteral kSaveSet = "pipe.save_set";
inline constexpr llvm::StringLiteral kNoDx = "pipe.nodx";

/// Which entry of a body: `saveSet` matters for ForwardSave, Rebuild and
/// Backward, `dx` for Backward.
struct EntryId {
  EntryKind kind = EntryKind::Forward;
  SaveSet saveSet = SaveSet::Input;
  bool dx = true;
};

/// Whether entries of this kind come once per save set.
bool hasSaveSet(EntryKind kind);
/// "backward_all_nodx".
std::string getEntryName(EntryId id);
/// The entry's kind, from its attributes; nothing if they are missing.
std::optional<EntryId> getEntryId(mlir::Operation *function);
/// The entry of `body`, or null.
mlir::func::FuncOp findEntry(BodyOp body, EntryId id);

/// An argument or result of an entry.
struct EntryValue {
  Role role;
  int64_t index; ///< Its number within the role, in the numbering of `forward`.
  mlir::Type type;
};

/// Order of arguments: by role, then index.
bool isOrderedArgument(const EntryValue &before, const EntryValue &after);
/// Order of results: output or loss, saved, cotangent, gradient; then index.
bool isOrderedResult(const EntryValue &before, const EntryValue &after);

/// The argument's role and number, or nothing if an attribute is missing or of
/// the wrong kind.
std::optional<EntryValue> getArgument(mlir::FunctionOpInterface function,
                                      unsigned number);
std::optional<EntryValue> getResult(mlir::FunctionOpInterface function,
                                    unsigned number);
/// The attribute dictionary of such an argument or result.
mlir::DictionaryAttr getRoleDictionary(mlir::MLIRContext *context, Role role,
                                       int64_t index);

/// What `forward` says about a layer. Positions in each list are the indices
/// of the role. After `kernels` the types are memrefs.
struct ForwardSignature {
  llvm::SmallVector<mlir::Type> boundary, sides, parameters, outputs;
  bool isLoss = false; ///< `outputs` is the loss alone.
};
/// Reads it from a body's `forward`, a func.func or (results as trailing
/// arguments) a kern.func; nothing if the body has none or it is malformed.
std::optional<ForwardSignature> getForwardSignature(BodyOp body);

/// What a layer's backward gives.
enum class BackwardNeed {
  None,      ///< Nothing trains in it or before it: it has no backward.
  Gradients, ///< Nothing trains before it: `backward_*_nodx`.
  All,       ///< `backward_*`: cotangents of the boundary, and gradients.
};
/// For every layer of a chain whose bodies have all their entries (functions
/// or kernels). The last layer's is that of `forward_backward`.
llvm::SmallVector<BackwardNeed> getBackwardNeeds(ChainOp chain);

/// The type of a parameter's gradient: f32 (f64 for f64), or null for a
/// parameter that is not floating.
mlir::RankedTensorType getGradientType(mlir::Type parameter);

} // namespace rondo::pipe

#endif // RONDO_DIALECT_PIPE_ENTRIES_H
