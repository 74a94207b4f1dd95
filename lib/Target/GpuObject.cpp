//===- GpuObject.cpp - GPU code of kernels -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "rondo/Target/GpuObject.h"

#include "AdamW.h"
#include "GpuCode.h"
#include "MachineCode.h"
#include "rondo/Dialect/NN/Utils.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace rondo;
using namespace rondo::kern;
using namespace rondo::target;

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

static bool isKernel(Operation &op) {
  return isa<FusedOp, GatherOp, ScatterAddOp, ConstantOp>(op);
}

std::string gpu::getSymbol(Operation &op) {
  if (!isKernel(op))
    return "";
  std::string symbol = getKernelSymbol(&op);
  auto fused = dyn_cast<FusedOp>(op);
  if (!fused)
    return symbol;
  llvm::raw_string_ostream os(symbol);
  if (fused.getCalls()[0] != 0 ||
      fused.getCalls()[1] != fused.getDomain().front())
    os << "_from" << fused.getCalls()[0] << "_to" << fused.getCalls()[1];
  gpu::Shape shape = gpu::getShape(fused);
  os << '_';
  for (bool isWide : shape.isWide)
    os << (isWide ? 'w' : 'n');
  return symbol;
}

void target::addLaunches(FuncOp function, std::vector<Call> &calls) {
  size_t number = 0;
  for (Operation &op : function.getBody().front()) {
    if (isa<ScratchOp, ReturnOp>(op))
      continue;
    Call &call = calls[number++];
    call.gpuSymbol = gpu::getSymbol(op);
    if (call.gpuSymbol.empty())
      continue;
    auto take = [&](auto extents) {
      call.block = extents.block, call.grid = extents.grid;
    };
    TypeSwitch<Operation *>(&op)
        .Case<FusedOp>([&](FusedOp fused) { take(gpu::getShape(fused)); })
        .Case<GatherOp, ScatterAddOp, ConstantOp>(
            [&](auto other) { take(gpu::getExtents(other)); });
  }
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// What no GPU code can be generated for.
static LogicalResult check(Operation &op) {
  WalkResult result = op.walk([&](Operation *inner) {
    if (!isa<math::MathDialect>(inner->getDialect()) ||
        host::CodeBuilder::hasDeviceFunction(*inner))
      return WalkResult::advance();
    op.emitError() << "needs " << inner->getName().stripDialect()
                   << " of f64, for which there is no GPU code; compute it in "
                      "f32, or compile with --target=host";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static void emitKernel(Operation &op, StringRef symbol, ModuleOp module) {
  TypeSwitch<Operation *>(&op)
      .Case<FusedOp>(
          [&](FusedOp fused) { gpu::emitFused(fused, symbol, module); })
      .Case<GatherOp>(
          [&](GatherOp gather) { gpu::emitGather(gather, symbol, module); })
      .Case<ScatterAddOp>([&](ScatterAddOp scatter) {
        gpu::emitScatterAdd(scatter, symbol, module);
      })
      .Case<ConstantOp>([&](ConstantOp constant) {
        gpu::emitConstant(constant, symbol, module);
      });
}

static FailureOr<std::unique_ptr<llvm::TargetMachine>>
createTarget(Location loc, StringRef arch) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError(loc) << "internal error: no GPU code can be generated: "
                          << error;
  std::unique_ptr<llvm::MCSubtargetInfo> info(
      target->createMCSubtargetInfo(triple, arch, ""));
  if (!info || !info->isCPUStringValid(arch))
    return emitError(loc) << "unknown GPU architecture '" << arch
                          << "'; write sm_80, sm_90 or the like";
  llvm::TargetOptions options;
  // Sums and products become one only where they are written so.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // No features: the oldest PTX version that knows the architecture, which the
  // most drivers read.
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, arch, "", options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Default));
}

/// Drivers would find these when they load the program, or round otherwise than
/// the host does.
static LogicalResult checkText(Location loc, StringRef text) {
  // The GPU's own functions: what kernels may ask for (`afn`), and what
  // CodeBuilder::invertOnDevice begins with.
  std::string rest = text.str();
  for (StringRef allowed : {"ex2.approx.ftz.f32", "rcp.approx.ftz.f32"})
    for (size_t at = 0; (at = rest.find(allowed, at)) != std::string::npos;)
      rest.replace(at, allowed.size(), allowed.take_front(3));
  StringRef ptx = rest;
  for (StringRef unwanted :
       {"__nv_", ".extern .func", "mul.f32", "add.f32", "mul.f64", "add.f64",
        "sub.f32", "sub.f64", ".approx", ".ftz"})
    if (size_t at = ptx.find(unwanted); at != StringRef::npos) {
      StringRef line = ptx.substr(0, ptx.find('\n', at));
      return emitError(loc) << "internal error: PTX contains '"
                            << line.substr(line.rfind('\n') + 1).trim() << "'";
    }
  return success();
}

FailureOr<std::string> target::emitGpuCode(Location loc,
                                           ArrayRef<FuncOp> functions,
                                           const GpuOptions &options,
                                           ArrayRef<GpuUpdate> updates) {
  FailureOr<std::unique_ptr<llvm::TargetMachine>> machine =
      createTarget(loc, options.arch);
  if (failed(machine))
    return failure();
  OwningOpRef<ModuleOp> module = createKernelModule(loc);
  llvm::StringSet<> emitted;
  for (FuncOp function : functions)
    for (Operation &op : function.getBody().front()) {
      if (!isKernel(op))
        continue;
      if (failed(check(op)))
        return failure();
      std::string symbol = gpu::getSymbol(op);
      if (emitted.insert(symbol).second)
        emitKernel(op, symbol, *module);
    }
  for (const GpuUpdate &update : updates)
    gpu::emitAdamW(loc, update.symbol, *module, update.kernel, update.elements);
  FailureOr<std::string> ptx =
      compileModule(*module, **machine, llvm::CodeGenFileType::AssemblyFile);
  if (failed(ptx) || failed(checkText(loc, *ptx)))
    return failure();
  return ptx;
}
