//===- HoistTables.cpp - Large constants as parameters ------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matching.h"
#include "rondo/Dialect/NN/Passes.h"

#include "mlir/IR/SymbolTable.h"

namespace rondo::nn {
#define GEN_PASS_DEF_NNHOISTTABLES
#include "rondo/Dialect/NN/Passes.h.inc"
} // namespace rondo::nn

using namespace mlir;
using namespace rondo::nn;

namespace {

struct HoistTables : rondo::nn::impl::NNHoistTablesBase<HoistTables> {
  using NNHoistTablesBase::NNHoistTablesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    DenseMap<Attribute, ParameterOp> tables;
    OpBuilder builder(module.getContext());
    int64_t next = 0;
    module.walk([&](ConstantOp constant) {
      ElementsAttr value = constant.getValue();
      if (value.getNumElements() <= limit || value.isSplat())
        return;
      ParameterOp &table = tables[value];
      if (!table) {
        std::string name;
        do
          name = "table_" + std::to_string(next++);
        while (symbols.lookup(name));
        // Among the parameters, in front of the functions.
        builder.setInsertionPoint(getFirstFunction(module));
        auto type = cast<RankedTensorType>(value.getType());
        table = ParameterOp::create(builder, constant.getLoc(), name, type,
                                    /*trainable=*/false, /*stored=*/nullptr,
                                    value, /*source=*/nullptr,
                                    /*transposed=*/false, /*copies=*/nullptr,
                                    /*copies_transposed=*/nullptr,
                                    /*stored_type=*/nullptr);
        symbols.insert(table);
      }
      builder.setInsertionPoint(constant);
      auto read =
          ReadOp::create(builder, constant.getLoc(), constant.getType(),
                         FlatSymbolRefAttr::get(table.getSymNameAttr()));
      constant.replaceAllUsesWith(read.getResult());
      constant.erase();
    });
  }

  static Operation *getFirstFunction(ModuleOp module) {
    for (Operation &op : *module.getBody())
      if (!isa<ParameterOp>(op))
        return &op;
    return nullptr; // a constant was found, so a function is there
  }
};

} // namespace
