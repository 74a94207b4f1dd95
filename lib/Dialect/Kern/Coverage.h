//===- Coverage.h - Which elements were written ----------------*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_DIALECT_KERN_COVERAGE_H
#define RONDO_DIALECT_KERN_COVERAGE_H

#include "rondo/Dialect/Kern/Kern.h"

#include <map>

namespace rondo::kern {

/// `extent` places, `stride` elements apart.
struct Axis {
  int64_t stride = 0;
  int64_t extent = 1;
};

/// The elements first + i + sum of stride * coordinate, i < run: what one op
/// touches of one memory. Strides increase, and are greater than `run`.
struct Box {
  int64_t first = 0;
  int64_t run = 1;
  llvm::SmallVector<Axis, 2> axes;

  /// Axes in any order, of any stride; all extents are positive.
  static Box get(int64_t first, llvm::ArrayRef<Axis> axes);
};

/// All of a memory; nothing if it has no elements.
std::optional<Box> getWhole(mlir::Value memref);
/// What an op does to one operand.
struct Touch {
  mlir::OpOperand *operand = nullptr;
  /// Nothing where guards or masks never hold. Indices may pick anything: all
  /// that they pick from is touched.
  std::optional<Box> box;
  bool isRead = false, isWritten = false; ///< Both: it is added to.
};
/// By operand number.
llvm::SmallVector<Touch, 4> getTouches(mlir::Operation *op);

/// A set of elements of one memory, exact. It is seen as a matrix: neighbouring
/// rows with the same columns in the set are one band, so that blocks of rows,
/// heads and dense ranges all take a few numbers, of whatever size they are.
class Coverage {
public:
  Coverage() = default;
  /// Of `size` elements; `boxes` are those that will be added.
  Coverage(int64_t size, llvm::ArrayRef<Box> boxes);

  void add(const Box &box);
  void clear() { bands.clear(); }
  bool empty() const { return bands.empty(); }
  bool intersects(const Box &box) const;
  /// The first elements of `box` in a row that are not in the set.
  std::optional<ElementRange> findMissing(const Box &box) const;

private:
  /// Rows and columns, both [begin, end).
  struct Rectangle {
    ElementRange rows, columns;
  };
  struct Band {
    int64_t end = 0;                            ///< Of its rows.
    llvm::SmallVector<ElementRange, 2> columns; ///< Increasing, apart.
  };
  using Visitor = llvm::function_ref<void(const Rectangle &)>;

  void visit(const Box &box, Visitor visitor) const;
  void visitRows(int64_t first, int64_t run, int64_t rows,
                 Visitor visitor) const;
  /// Every element is in the set; false says nothing.
  bool isWhole() const;
  void addRectangle(const Rectangle &rectangle);
  void split(int64_t row);
  void join(int64_t begin, int64_t end);

  int64_t size = 0;              ///< Of the memory.
  int64_t width = 1;             ///< Of a row.
  std::map<int64_t, Band> bands; ///< By their first row.
};

/// "elements [3, 5) of N" or "element 3 of N", for N elements of `memref`.
void print(mlir::InFlightDiagnostic &diagnostic, ElementRange range,
           mlir::Value memref);

} // namespace rondo::kern

#endif // RONDO_DIALECT_KERN_COVERAGE_H
