//===- Coverage.cpp - Which elements were written ------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Coverage.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;

Box Box::get(int64_t first, ArrayRef<Axis> axes) {
  Box box;
  box.first = first;
  SmallVector<Axis, 4> sorted;
  for (Axis axis : axes) {
    if (axis.extent == 1 || axis.stride == 0)
      continue;
    if (axis.stride < 0) {
      box.first += axis.stride * (axis.extent - 1);
      axis.stride = -axis.stride;
    }
    sorted.push_back(axis);
  }
  llvm::sort(sorted, [](Axis a, Axis b) {
    return std::tie(a.stride, a.extent) < std::tie(b.stride, b.extent);
  });
  for (Axis axis : sorted) {
    if (box.axes.empty() && axis.stride <= box.run)
      box.run += axis.stride * (axis.extent - 1);
    else if (!box.axes.empty() &&
             axis.stride == box.axes.back().stride * box.axes.back().extent)
      box.axes.back().extent *= axis.extent;
    else
      box.axes.push_back(axis);
  }
  return box;
}

//===----------------------------------------------------------------------===//
// Boxes as rectangles
//===----------------------------------------------------------------------===//

/// For a matrix with rows of `width` elements, makes an axis that steps within
/// rows and on into the next ones two, the second by whole rows.
static void splitAt(int64_t width, SmallVectorImpl<Axis> &axes) {
  if (llvm::any_of(axes, [&](Axis axis) { return axis.stride == width; }))
    return;
  for (Axis &axis : axes) {
    int64_t inRow = width / axis.stride;
    if (width % axis.stride || axis.extent <= inRow || axis.extent % inRow)
      continue;
    Axis rows{width, axis.extent / inRow};
    axis.extent = inRow;
    axes.push_back(rows);
    return;
  }
}

/// How many rectangles a box is, about.
static double countRectangles(const Box &box, int64_t width) {
  SmallVector<Axis, 4> axes(box.axes.begin(), box.axes.end());
  splitAt(width, axes);
  double count = 1;
  bool hasRows = false;
  for (Axis axis : axes) {
    if (axis.stride == width && !hasRows)
      hasRows = true;
    else
      count *= axis.extent;
  }
  return count;
}

Coverage::Coverage(int64_t size, ArrayRef<Box> boxes) : size(size) {
  SmallVector<int64_t> widths;
  for (const Box &box : boxes)
    for (Axis axis : box.axes)
      if (!llvm::is_contained(widths, axis.stride))
        widths.push_back(axis.stride);
  width = std::max<int64_t>(size, 1);
  double fewest = std::numeric_limits<double>::infinity();
  for (int64_t candidate : widths) {
    double count = 0;
    for (const Box &box : boxes)
      count += countRectangles(box, candidate);
    if (count >= fewest)
      continue;
    fewest = count;
    width = candidate;
  }
}

/// `rows` runs, one row apart.
void Coverage::visitRows(int64_t first, int64_t run, int64_t rows,
                         Visitor visitor) const {
  int64_t row = first / width, column = first % width, end = column + run;
  if (end <= width)
    return visitor({{row, row + rows}, {column, end}});
  if (rows > 1) { // Into the next row, by less than a whole one.
    visitor({{row, row + rows}, {column, width}});
    visitor({{row + 1, row + 1 + rows}, {0, end - width}});
    return;
  }
  if (column > 0)
    visitor({{row, row + 1}, {column, width}});
  int64_t whole = row + (column > 0), last = row + end / width;
  if (whole < last)
    visitor({{whole, last}, {0, width}});
  if (end % width)
    visitor({{last, last + 1}, {0, end % width}});
}

void Coverage::visit(const Box &box, Visitor visitor) const {
  SmallVector<Axis, 4> axes(box.axes.begin(), box.axes.end());
  splitAt(width, axes);
  int64_t rows = 1;
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].stride == width) {
      rows = axes[i].extent;
      axes.erase(axes.begin() + i);
      break;
    }
  SmallVector<int64_t, 4> at(axes.size(), 0);
  int64_t first = box.first;
  while (true) {
    visitRows(first, box.run, rows, visitor);
    size_t i = 0;
    for (; i < axes.size(); ++i) {
      first += axes[i].stride;
      if (++at[i] < axes[i].extent)
        break;
      first -= axes[i].stride * axes[i].extent;
      at[i] = 0;
    }
    if (i == axes.size())
      return;
  }
}

//===----------------------------------------------------------------------===//
// Bands
//===----------------------------------------------------------------------===//

/// Makes `row` the first of a band, if it is in one.
void Coverage::split(int64_t row) {
  auto it = bands.lower_bound(row);
  if (it == bands.begin())
    return;
  --it;
  if (it->second.end <= row)
    return;
  Band rest = it->second;
  it->second.end = row;
  bands.emplace(row, std::move(rest));
}

static void addColumns(SmallVectorImpl<ElementRange> &columns,
                       ElementRange range) {
  auto *begin = llvm::lower_bound(
      columns, range.begin,
      [](const ElementRange &at, int64_t value) { return at.end < value; });
  auto *end = begin;
  for (; end != columns.end() && end->begin <= range.end; ++end) {
    range.begin = std::min(range.begin, end->begin);
    range.end = std::max(range.end, end->end);
  }
  if (begin == end) {
    columns.insert(begin, range);
    return;
  }
  *begin = range;
  columns.erase(begin + 1, end);
}

/// Makes neighbours one that have the same columns, from the band before row
/// `begin` to that at row `end`.
void Coverage::join(int64_t begin, int64_t end) {
  auto it = bands.lower_bound(begin);
  if (it != bands.begin())
    --it;
  auto isEqual = [](const ElementRange &a, const ElementRange &b) {
    return a.begin == b.begin && a.end == b.end;
  };
  for (auto next = std::next(it); next != bands.end() && next->first <= end;) {
    if (it->second.end == next->first &&
        llvm::equal(it->second.columns, next->second.columns, isEqual)) {
      it->second.end = next->second.end;
      next = bands.erase(next);
      continue;
    }
    it = next++;
  }
}

void Coverage::addRectangle(const Rectangle &rectangle) {
  auto [begin, end] = rectangle.rows;
  split(begin);
  split(end);
  auto it = bands.lower_bound(begin);
  for (int64_t row = begin; row < end;) {
    if (it == bands.end() || it->first > row) { // No band here yet.
      int64_t next = it == bands.end() ? end : std::min(end, it->first);
      it = bands.emplace_hint(it, row, Band{next, {}});
    }
    addColumns(it->second.columns, rectangle.columns);
    row = it->second.end;
    ++it;
  }
  join(begin, end);
}

bool Coverage::isWhole() const {
  if (bands.size() != 1 || bands.begin()->first != 0)
    return false;
  const Band &band = bands.begin()->second;
  return band.end * width == size && band.columns.size() == 1 &&
         band.columns.front().begin == 0 && band.columns.front().end == width;
}

void Coverage::add(const Box &box) {
  // Boxes can be many rectangles, most of them of memory that is full.
  if (isWhole())
    return;
  visit(box, [&](const Rectangle &rectangle) { addRectangle(rectangle); });
}

bool Coverage::intersects(const Box &box) const {
  if (bands.empty() || isWhole())
    return !bands.empty();
  bool result = false;
  visit(box, [&](const Rectangle &rectangle) {
    if (result)
      return;
    auto it = bands.upper_bound(rectangle.rows.begin);
    if (it != bands.begin())
      --it;
    for (; it != bands.end() && it->first < rectangle.rows.end; ++it)
      if (it->second.end > rectangle.rows.begin)
        result |=
            llvm::any_of(it->second.columns, [&](const ElementRange &range) {
              return range.begin < rectangle.columns.end &&
                     rectangle.columns.begin < range.end;
            });
  });
  return result;
}

std::optional<ElementRange> Coverage::findMissing(const Box &box) const {
  if (isWhole())
    return std::nullopt;
  std::optional<ElementRange> first;
  auto miss = [&](int64_t row, int64_t begin, int64_t end) {
    ElementRange range{row * width + begin, row * width + end};
    if (!first || range.begin < first->begin)
      first = range;
  };
  visit(box, [&](const Rectangle &rectangle) {
    const ElementRange &columns = rectangle.columns;
    auto it = bands.upper_bound(rectangle.rows.begin);
    if (it != bands.begin() && std::prev(it)->second.end > rectangle.rows.begin)
      --it;
    for (int64_t row = rectangle.rows.begin; row < rectangle.rows.end; ++it) {
      if (it == bands.end() || it->first > row)
        return miss(row, columns.begin, columns.end);
      int64_t at = columns.begin;
      for (const ElementRange &range : it->second.columns) {
        if (range.end <= at)
          continue;
        if (range.begin > at)
          return miss(row, at, std::min(range.begin, columns.end));
        at = range.end;
        if (at >= columns.end)
          break;
      }
      if (at < columns.end)
        return miss(row, at, columns.end);
      row = it->second.end;
    }
  });
  return first;
}

void kern::print(InFlightDiagnostic &diagnostic, ElementRange range,
                 Value memref) {
  if (range.end == range.begin + 1)
    diagnostic << "element " << range.begin;
  else
    diagnostic << "elements [" << range.begin << ", " << range.end << ')';
  diagnostic << " of " << cast<MemRefType>(memref.getType()).getNumElements();
}
