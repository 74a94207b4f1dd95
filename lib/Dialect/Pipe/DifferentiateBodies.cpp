//===- DifferentiateBodies.cpp - Adds the entries that training needs -----===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Joint.h"
#include "rondo/Dialect/Pipe/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::pipe;

namespace rondo::pipe {
#define GEN_PASS_DEF_PIPEDIFFERENTIATEBODIES
#include "rondo/Dialect/Pipe/Passes.h.inc"
} // namespace rondo::pipe

namespace {
/// What a layer asks of its body.
struct LayerNeeds {
  SmallVector<bool> trainable;      ///< By parameter.
  SmallVector<bool> wantedBoundary; ///< Values that need a cotangent.
  SmallVector<bool> activeOutputs;  ///< Values whose cotangent comes back.

  bool wantsDx() const { return llvm::is_contained(wantedBoundary, true); }
  bool wantsBackward() const { return llvm::is_contained(activeOutputs, true); }
};

/// A body with the layers that share it: all have its masks.
struct Variant {
  BodyOp body;
  SmallVector<LayerOp> layers;
  SmallVector<bool> trainable;
  SmallVector<bool> wantedBoundary; ///< All false if no layer wants dx.
  bool isLoss = false;
  bool backward = false; ///< Some layer wants one,
  bool dx = false;       ///< with dx,
  bool noDx = false;     ///< without.
};

struct DifferentiateBodies
    : pipe::impl::PipeDifferentiateBodiesBase<DifferentiateBodies> {
  void runOnOperation() override;

private:
  FailureOr<LayerNeeds> findNeeds(LayerOp layer, BodyOp body,
                                  ArrayRef<bool> wantedBoundary);
  LogicalResult collectVariants(ChainOp chain, SymbolTable &symbols,
                                SmallVectorImpl<Variant> &variants);
  LogicalResult differentiate(const Variant &variant);
};
} // namespace

FailureOr<LayerNeeds>
DifferentiateBodies::findNeeds(LayerOp layer, BodyOp body,
                               ArrayRef<bool> wantedBoundary) {
  func::FuncOp forward = findEntry(body, {EntryKind::Forward});
  if (!forward)
    return body.emitOpError() << "has no func.func 'forward' to differentiate";
  LayerNeeds needs;
  needs.wantedBoundary.assign(wantedBoundary.begin(), wantedBoundary.end());
  ArrayAttr parameters = layer.getParameters();
  for (auto name : parameters.getAsRange<FlatSymbolRefAttr>()) {
    auto parameter =
        SymbolTable::lookupNearestSymbolFrom<nn::ParameterOp>(layer, name);
    needs.trainable.push_back(
        parameter.getTrainable() &&
        isa<FloatType>(getElementTypeOrSelf(parameter.getType())));
  }
  needs.activeOutputs =
      findActiveOutputs(forward, needs.trainable, wantedBoundary);
  return needs;
}

/// Says which parameters there are to choose from.
static LogicalResult reportNothingToTrain(ChainOp chain) {
  SmallVector<StringRef> trainable, frozen;
  for (auto parameter :
       chain->getParentOfType<ModuleOp>().getOps<nn::ParameterOp>())
    if (isa<FloatType>(getElementTypeOrSelf(parameter.getType())))
      (parameter.getTrainable() ? trainable : frozen)
          .push_back(parameter.getSymName());
  InFlightDiagnostic error =
      emitError(chain.getLoc())
      << "the model has nothing to train: no trainable parameter reaches the "
         "loss";
  auto list = [&](StringRef what, ArrayRef<StringRef> names) {
    constexpr size_t maxNames = 8;
    error << "; " << what << ":";
    for (StringRef name : names.take_front(maxNames))
      error << " '" << name << "'";
    if (names.empty())
      error << " none";
    if (names.size() > maxNames)
      error << " and " << names.size() - maxNames << " more";
  };
  list("trainable", trainable);
  list("not trainable", frozen);
  return error << "; choose with --trainable=REGEX and --freeze=REGEX";
}

/// Gives layers of one body that train different parameters, or want
/// cotangents of different values, bodies of their own.
LogicalResult
DifferentiateBodies::collectVariants(ChainOp chain, SymbolTable &symbols,
                                     SmallVectorImpl<Variant> &variants) {
  SmallVector<bool> wanted;
  DenseSet<Operation *> taken;
  for (auto layer : chain.getBody().getOps<LayerOp>()) {
    auto body = symbols.lookup<BodyOp>(layer.getBody());
    FailureOr<LayerNeeds> needs = findNeeds(layer, body, wanted);
    if (failed(needs))
      return failure();
    wanted = needs->activeOutputs;
    auto fits = [&](Variant &variant) {
      if (variant.layers.front().getBodyAttr() != layer.getBodyAttr() ||
          variant.trainable != needs->trainable ||
          variant.backward != needs->wantsBackward())
        return false;
      return !variant.dx || !needs->wantsDx() ||
             variant.wantedBoundary == needs->wantedBoundary;
    };
    auto *found = llvm::find_if(variants, fits);
    if (found == variants.end()) {
      found = &variants.emplace_back();
      found->body = body;
      found->trainable = needs->trainable;
      found->wantedBoundary = needs->wantedBoundary;
      found->isLoss = isa<YieldOp>(layer->getNextNode());
      found->backward = needs->wantsBackward();
    }
    found->layers.push_back(layer);
    if (needs->wantsDx()) {
      found->dx = true;
      found->wantedBoundary = needs->wantedBoundary;
    } else {
      found->noDx = true;
    }
  }
  if (!llvm::is_contained(wanted, true))
    return reportNothingToTrain(chain);
  for (Variant &variant : variants) {
    if (taken.insert(variant.body).second)
      continue;
    BodyOp clone = variant.body.clone();
    symbols.insert(clone, std::next(Block::iterator(variant.body)));
    variant.body = clone;
    for (LayerOp layer : variant.layers)
      layer.setBodyAttr(FlatSymbolRefAttr::get(clone));
  }
  return success();
}

/// The results of a forward that saves: `results`, then `saved`.
static SmallVector<JointResult> withSaved(ArrayRef<JointResult> results,
                                          ArrayRef<Value> saved) {
  SmallVector<JointResult> all(results);
  for (auto [index, value] : llvm::enumerate(saved))
    all.push_back({value, Role::Saved, static_cast<int64_t>(index)});
  return all;
}

LogicalResult DifferentiateBodies::differentiate(const Variant &variant) {
  if (!variant.backward)
    return success();
  BodyOp body = variant.body;
  func::FuncOp forward = findEntry(body, {EntryKind::Forward});
  FailureOr<Joint> joint =
      buildJoint(forward, variant.trainable, variant.wantedBoundary);
  if (failed(joint))
    return failure();
  const DenseMap<Value, int64_t> none;
  SmallVector<JointResult> all(joint->cotangents);
  llvm::append_range(all, joint->gradients);
  if (variant.isLoss) {
    joinLossHeads(*joint);
    SmallVector<JointResult> results(joint->outputs);
    llvm::append_range(results, all);
    emitEntry(body, {EntryKind::ForwardBackward}, *joint, results, none);
    return success();
  }
  for (SaveSet set : {SaveSet::Products, SaveSet::All}) {
    SmallVector<Value> saved =
        findSavedValues(*joint, set, variant.dx ? all : joint->gradients);
    DenseMap<Value, int64_t> numbers;
    for (auto [index, value] : llvm::enumerate(saved))
      numbers[value] = index;
    emitEntry(body, {EntryKind::ForwardSave, set}, *joint,
              withSaved(joint->outputs, saved), none);
    emitEntry(body, {EntryKind::Rebuild, set}, *joint, withSaved({}, saved),
              none);
    if (variant.dx)
      emitEntry(body, {EntryKind::Backward, set, /*dx=*/true}, *joint, all,
                numbers);
    if (variant.noDx)
      emitEntry(body, {EntryKind::Backward, set, /*dx=*/false}, *joint,
                joint->gradients, numbers);
  }
  return success();
}

void DifferentiateBodies::runOnOperation() {
  auto chains = getOperation().getOps<ChainOp>();
  if (!llvm::hasSingleElement(chains)) {
    emitError(getOperation().getLoc())
        << "expected one pipe.chain, found " << llvm::range_size(chains)
        << "; run rondo-pipe-outline-layers first";
    return signalPassFailure();
  }
  SymbolTable symbols(getOperation());
  SmallVector<Variant> variants;
  if (failed(collectVariants(*chains.begin(), symbols, variants)))
    return signalPassFailure();
  bool failed = false;
  for (const Variant &variant : variants)
    failed |= mlir::failed(differentiate(variant));
  if (failed)
    signalPassFailure();
}
