//===- OutlineLayers.cpp - Turns the loss function into layers ------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cuts.h"
#include "Labels.h"
#include "LayerBuilder.h"
#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Dialect/Pipe/Passes.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace rondo::pipe {
#define GEN_PASS_DEF_PIPEOUTLINELAYERS
#include "rondo/Dialect/Pipe/Passes.h.inc"
} // namespace rondo::pipe

namespace {
struct OutlineLayers : pipe::impl::PipeOutlineLayersBase<OutlineLayers> {
  using PipeOutlineLayersBase::PipeOutlineLayersBase;
  void runOnOperation() override;

private:
  FailureOr<func::FuncOp> findLoss();
  LogicalResult prepare(func::FuncOp loss);
  void outline(func::FuncOp loss);
};
} // namespace

FailureOr<func::FuncOp> OutlineLayers::findLoss() {
  func::FuncOp loss;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function->hasAttr("nn.loss"))
      continue;
    if (loss)
      return function.emitOpError()
             << "is a second loss function beside '" << loss.getSymName()
             << "'; exactly one may have 'nn.loss'";
    loss = function;
  }
  if (!loss)
    return emitError(getOperation().getLoc())
           << "no loss function: none has the attribute 'nn.loss'";
  return loss;
}

/// Checks what the rest takes for granted, removes dead and repeated
/// operations, and gives the loss the type f32.
LogicalResult OutlineLayers::prepare(func::FuncOp loss) {
  if (!loss.getBody().hasOneBlock())
    return loss.emitOpError() << "must have one block to be cut into layers";
  Block &block = loss.getBody().front();
  bool failed = false;
  for (Operation &op : block.without_terminator()) {
    if (isa<nn::NNDialect>(op.getDialect()) && isPure(&op))
      continue;
    op.emitOpError() << "is no operation of the nn dialect, so it cannot "
                        "become part of a layer";
    failed = true;
  }
  if (failed)
    return failure();
  auto type = loss.getNumResults() == 1
                  ? dyn_cast<RankedTensorType>(loss.getResultTypes()[0])
                  : RankedTensorType();
  if (!type || type.getRank() != 0 || !isa<FloatType>(type.getElementType()))
    return loss.emitOpError()
           << "must give one scalar, the loss, but has the type "
           << loss.getFunctionType();
  Operation *terminator = block.getTerminator();
  if (!terminator->getOperand(0).getDefiningOp())
    return loss.emitOpError() << "returns one of its inputs as the loss";
  if (type.getElementType().getIntOrFloatBitWidth() < 32) {
    OpBuilder builder(terminator);
    auto wide = nn::CastOp::create(builder, terminator->getLoc(),
                                   type.clone(builder.getF32Type()),
                                   terminator->getOperand(0));
    terminator->setOperand(0, wide);
    loss.setFunctionType(
        builder.getFunctionType(loss.getArgumentTypes(), wide.getType()));
  }
  IRRewriter rewriter(&getContext());
  DominanceInfo dominance(loss);
  eliminateCommonSubExpressions(rewriter, dominance, loss);
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
  return success();
}

/// The module of a dotted parameter name: all but its last component.
static SmallVector<StringRef> getModule(StringRef name) {
  SmallVector<StringRef> path;
  name.split(path, '.');
  path.pop_back();
  return path;
}

/// A layer's name for people: the module path that its parameters have in
/// common; where that is also the path of other layers, the modules one by
/// one; without dotted names its first ONNX node.
static std::string getLabel(const LayerParts &parts, SymbolTable &symbols,
                            ArrayRef<Operation *> roots, int64_t number) {
  llvm::SetVector<StringRef> modules;
  std::optional<SmallVector<StringRef>> common;
  for (FlatSymbolRefAttr symbol : parts.parameterNames) {
    auto parameter = symbols.lookup<nn::ParameterOp>(symbol.getValue());
    StringRef name =
        parameter.getSource() ? *parameter.getSource() : symbol.getValue();
    SmallVector<StringRef> path = getModule(name);
    if (path.empty() || parameter.getValue())
      continue;
    modules.insert(name.rsplit('.').first);
    if (!common)
      common = path;
    size_t same = 0;
    while (same < common->size() && same < path.size() &&
           (*common)[same] == path[same])
      ++same;
    common->truncate(same);
  }
  // A path of one component below several modules says nothing: it is the
  // whole model.
  if (common && (common->size() > 1 || modules.size() == 1))
    return llvm::join(*common, ".");
  if (modules.size() > 1 && modules.size() <= 3)
    return llvm::join(modules, "+");
  std::string node = nn::getNodeName(roots.front()->getLoc());
  return node.empty() ? llvm::formatv("layer {0}", number).str() : node;
}

void OutlineLayers::outline(func::FuncOp loss) {
  SymbolTable symbols(getOperation());
  MainOps main = findMainOps(loss, [&](StringRef name) {
    auto parameter = symbols.lookup<nn::ParameterOp>(name);
    return parameter && parameter.getTrainable();
  });
  LayerBuilder builder(loss, symbols, tableElements);

  Block &block = loss.getBody().front();
  OpBuilder chainBuilder(loss);
  SmallVector<Attribute> inputNames;
  SmallVector<Location> inputLocs;
  for (BlockArgument input : block.getArguments()) {
    auto name =
        loss.getArgAttrOfType<StringAttr>(input.getArgNumber(), "nn.name");
    inputNames.push_back(name ? name
                              : chainBuilder.getStringAttr(llvm::formatv(
                                    "input_{0}", input.getArgNumber())));
    inputLocs.push_back(input.getLoc());
  }
  // Detached until the loss function, whose name it takes, is gone.
  OpBuilder detached(&getContext());
  auto chain = ChainOp::create(detached, loss.getLoc(), loss.getSymName(),
                               detached.getArrayAttr(inputNames),
                               /*labels=*/nullptr, /*label_inputs=*/nullptr);
  Block *chainBlock = detached.createBlock(&chain.getBody(), {},
                                           block.getArgumentTypes(), inputLocs);

  SmallVector<Value> boundary; // of the loss function
  SmallVector<Value> entering; // the same in the chain
  int64_t begin = 0, number = 0;
  for (int64_t end : findLayerEnds(main)) {
    bool isLast = end == static_cast<int64_t>(main.ops.size());
    auto roots = ArrayRef(main.ops).slice(begin, end - begin);
    LayerParts parts = builder.collect(roots, boundary);
    SmallVector<Value> outputs =
        isLast ? SmallVector<Value>{block.getTerminator()->getOperand(0)}
               : getLiveValues(main, end);
    BodyOp body = builder.share(builder.build(
        llvm::formatv("body_{0}", number).str(), EntryKind::Forward, parts,
        outputs, isLast ? Role::Loss : Role::Output));
    SmallVector<Value> sides;
    for (Value side : parts.sides)
      sides.push_back(
          chainBlock->getArgument(cast<BlockArgument>(side).getArgNumber()));
    StringAttr label =
        detached.getStringAttr(getLabel(parts, symbols, roots, number));
    auto layer = LayerOp::create(
        detached, NameLoc::get(label), TypeRange(ValueRange(outputs)), label,
        FlatSymbolRefAttr::get(body), entering, sides,
        detached.getArrayAttr(SmallVector<Attribute>(
            parts.parameterNames.begin(), parts.parameterNames.end())));
    boundary = outputs;
    entering = SmallVector<Value>(layer.getResults());
    begin = end;
    ++number;
  }
  YieldOp::create(detached, block.getTerminator()->getLoc(), entering);
  if (std::optional<LabelCount> labels = buildLabelCount(loss, builder)) {
    symbols.insert(labels->body, Block::iterator(loss));
    chain.setLabelsAttr(FlatSymbolRefAttr::get(labels->body));
    chain.setLabelInputs(labels->inputs);
  }
  Block::iterator next = std::next(Block::iterator(loss));
  symbols.erase(loss);
  symbols.insert(chain, next);
}

void OutlineLayers::runOnOperation() {
  FailureOr<func::FuncOp> loss = findLoss();
  if (failed(loss) || failed(prepare(*loss)))
    return signalPassFailure();
  outline(*loss);
}
