//===- DiagnosticPrinter.cpp - Messages for users of the tools ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Pipelines/DiagnosticPrinter.h"

#include "mlir/IR/Location.h"
#include "rondo/Dialect/NN/Utils.h"

using namespace mlir;

namespace rondo {

DiagnosticPrinter::DiagnosticPrinter(MLIRContext *context,
                                     llvm::raw_ostream &os)
    : ScopedDiagnosticHandler(context), os(os) {
  setHandler([this](Diagnostic &diagnostic) {
    print(diagnostic, /*isNote=*/false);
    for (Diagnostic &note : diagnostic.getNotes())
      print(note, /*isNote=*/true);
    return success();
  });
}

static StringRef getSeverityName(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "error";
}

void DiagnosticPrinter::print(Diagnostic &diagnostic, bool isNote) {
  Location loc = diagnostic.getLocation();
  std::string text = diagnostic.str();
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
    infeasible |= StringRef(text).starts_with("infeasible: ");
    badFlag |= StringRef(text).starts_with("--");
  }
  std::string prefix, suffix;
  llvm::raw_string_ostream before(prefix), after(suffix);
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    before << file.getFilename().getValue();
    // The importer's messages about a whole file have no line.
    if (file.getLine() != 0)
      before << ":" << file.getLine() << ":" << file.getColumn();
    before << ": ";
  } else if (std::string name = nn::getNodeName(loc); !name.empty()) {
    std::string type = nn::getNodeOpType(loc);
    // Without a type it is a tensor: an input or an initializer.
    if (type.empty())
      after << "'" << name << "': ";
    else
      after << "node '" << name << "' ("
            << (StringRef(type).starts_with("::") ? "ai.onnx" : "") << type
            << "): ";
  }
  os << prefix << getSeverityName(diagnostic.getSeverity()) << ": " << suffix
     << text << "\n";
}

} // namespace rondo
