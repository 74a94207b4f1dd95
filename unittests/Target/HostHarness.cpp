//===- HostHarness.cpp - Runs launch lists in this process ---------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostHarness.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "rondo/Dialect/NN/Utils.h"
#include "rondo/Dialect/Pipe/Pipe.h"
#include "rondo/Target/GpuObject.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace mlir;
using namespace rondo;
using namespace rondo::test;
using target::Call;

std::unique_ptr<MLIRContext> test::makeContext() {
  DialectRegistry registry;
  registry.insert<func::FuncDialect, nn::NNDialect, pipe::PipeDialect,
                  kern::KernDialect, arith::ArithDialect, math::MathDialect>();
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  return context;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

uint64_t test::encode(double value, FloatType type) {
  APFloat number(value);
  bool losesInfo;
  number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

double test::decode(uint64_t bits, FloatType type) {
  APFloat number(type.getFloatSemantics(), APInt(type.getWidth(), bits));
  bool losesInfo;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.convertToDouble();
}

static uint64_t readBits(const uint8_t *at, int64_t width) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, width);
  return bits;
}

Bytes test::toBytes(const nn::HostTensor &tensor) {
  Type element = tensor.getType().getElementType();
  int64_t width = kern::getElementBytes(element);
  Bytes bytes(tensor.getNumElements() * width);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    uint64_t bits = tensor.isFloat()
                        ? encode(tensor.floats()[i], cast<FloatType>(element))
                        : tensor.integers()[i];
    std::memcpy(&bytes[i * width], &bits, width);
  }
  return bytes;
}

nn::HostTensor test::fromBytes(RankedTensorType type, const uint8_t *bytes) {
  nn::HostTensor tensor(type);
  Type element = type.getElementType();
  int64_t width = kern::getElementBytes(element);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    uint64_t bits = readBits(bytes + i * width, width);
    if (tensor.isFloat())
      tensor.floats()[i] = decode(bits, cast<FloatType>(element));
    else
      tensor.integers()[i] =
          element.isInteger(32) ? int64_t(int32_t(bits)) : int64_t(bits);
  }
  return tensor;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

CompiledModule::CompiledModule(MLIRContext &context, const std::string &text,
                               const conversion::KernelOptions &options,
                               const target::HostOptions &host, Type copyType) {
  source = parseSourceString<ModuleOp>(text, &context);
  if (!source) {
    ADD_FAILURE() << "cannot parse\n" << text;
    return;
  }
  for (auto function : source->getOps<func::FuncOp>())
    types[function.getSymName().str()] = function.getFunctionType();
  lowered = source->clone();
  PassManager passes(&context);
  conversion::buildKernelsPipeline(passes, options);
  if (failed(passes.run(*lowered))) {
    ADD_FAILURE() << "cannot lower";
    return;
  }
  SmallVector<kern::FuncOp> functions(lowered->getOps<kern::FuncOp>());
  FailureOr<target::HostObject> compiled =
      target::emitHostObject(lowered->getLoc(), functions, copyType, host);
  if (failed(compiled)) {
    ADD_FAILURE() << "cannot compile";
    return;
  }
  object = std::move(*compiled);
  compileForGpus(functions);
  SmallString<128> path;
  int descriptor;
  if (llvm::sys::fs::createTemporaryFile("rondo-test", "so", descriptor,
                                         path)) {
    ADD_FAILURE() << "cannot create a temporary file";
    return;
  }
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << object.sharedObject;
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    ADD_FAILURE() << dlerror();
  (void)llvm::sys::fs::remove(path);
}

void CompiledModule::compileForGpus(ArrayRef<kern::FuncOp> all) {
  if (!std::getenv("RONDO_GPU_CASES"))
    return;
  // Without those that GPUs have no code for.
  SmallVector<kern::FuncOp> functions;
  for (auto [function, entry] : llvm::zip_equal(all, object.entries)) {
    ScopedDiagnosticHandler quiet(lowered->getContext(), [](Diagnostic &) {});
    if (failed(target::emitGpuCode(lowered->getLoc(), function, {})))
      continue;
    functions.push_back(function);
    target::addLaunches(function, entry.calls);
  }
  FailureOr<std::string> ptx =
      target::emitGpuCode(lowered->getLoc(), functions, {});
  if (failed(ptx))
    ADD_FAILURE() << "cannot compile for GPUs";
  else
    recorder = GpuRecorder::create(*ptx);
}

Operation *CompiledModule::getOp(const std::string &name, size_t call) const {
  auto function = lowered.get().lookupSymbol<kern::FuncOp>(name);
  for (Operation &op : function.getBody().front())
    if (!isa<kern::ScratchOp>(op) && call-- == 0)
      return &op;
  llvm::report_fatal_error("no such call");
}

CompiledModule::~CompiledModule() {
  if (library)
    dlclose(library);
}

void *CompiledModule::getSymbol(const std::string &name) const {
  return dlsym(library, name.c_str());
}

std::vector<std::string> CompiledModule::getFunctions() const {
  std::vector<std::string> names;
  for (auto &[name, type] : types)
    names.push_back(name);
  return names;
}

const target::CompiledEntry &
CompiledModule::getEntry(const std::string &function) const {
  for (const target::CompiledEntry &entry : object.entries)
    if (entry.name == function)
      return entry;
  llvm::report_fatal_error("no such entry");
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static void multiply(const Call &call, const uint8_t *a, const uint8_t *b,
                     uint8_t *c) {
  auto get = [](const uint8_t *base, int64_t index, Type type) {
    int64_t width = kern::getElementBytes(type);
    return decode(readBits(base + index * width, width), cast<FloatType>(type));
  };
  int64_t widthC = kern::getElementBytes(call.typeC);
  for (int64_t batch = 0; batch < call.batch; ++batch)
    for (int64_t i = 0; i < call.m; ++i)
      for (int64_t j = 0; j < call.n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < call.k; ++l)
          sum +=
              get(a,
                  batch * call.strideA +
                      (call.transposeA ? l * call.lda + i : i * call.lda + l),
                  call.typeA) *
              get(b,
                  batch * call.strideB +
                      (call.transposeB ? j * call.ldb + l : l * call.ldb + j),
                  call.typeB);
        int64_t at = batch * call.strideC + i * call.ldc + j;
        double value =
            call.alpha * sum + (call.accumulate ? get(c, at, call.typeC) : 0);
        uint64_t bits = encode(value, cast<FloatType>(call.typeC));
        std::memcpy(c + at * widthC, &bits, widthC);
      }
}

/// Runs a kernel in two calls, as a pool of workers would.
static int launch(void *symbol, std::vector<void *> &pointers, int64_t begin,
                  int64_t end) {
  auto kernel =
      reinterpret_cast<int32_t (*)(void *const *, int64_t, int64_t)>(symbol);
  int64_t middle = begin + (end - begin) * 2 / 5;
  int status = 0;
  if (middle > begin)
    status |= kernel(pointers.data(), begin, middle);
  return status | kernel(pointers.data(), middle, end);
}

std::vector<Bytes>
CompiledModule::run(const std::string &function,
                    const std::vector<Bytes> &arguments, int *status,
                    const std::vector<Bytes> &initial) const {
  const target::CompiledEntry &entry = getEntry(function);
  FunctionType type = types.at(function);
  std::vector<Bytes> memory = arguments;
  for (auto [index, result] : llvm::enumerate(type.getResults()))
    memory.push_back(index < initial.size()
                         ? initial[index]
                         : Bytes(nn::getTensorBytes(result), 0xff));
  memory.push_back(Bytes(entry.scratchBytes + 1, 0xff));
  // Guards behind everything show writes out of bounds.
  constexpr size_t kGuard = 64;
  for (Bytes &bytes : memory)
    bytes.insert(bytes.end(), kGuard, 0xa5);
  int sum = 0;
  for (auto [number, call] : llvm::enumerate(entry.calls)) {
    std::vector<void *> pointers;
    for (const Call::Address &address : call.addresses)
      pointers.push_back(memory[address.argument].data() + address.offset);
    switch (call.kind) {
    case Call::Kind::Kernel: {
      void *symbol = getSymbol(call.symbol);
      if (!symbol) {
        ADD_FAILURE() << "no symbol " << call.symbol;
        return {};
      }
      std::vector<Bytes> before = recorder ? memory : std::vector<Bytes>();
      int failed = launch(symbol, pointers, call.begin, call.extent);
      if (recorder && !call.gpuSymbol.empty())
        recorder->record(function, getOp(function, number), call, before,
                         memory, failed);
      sum |= failed;
      break;
    }
    case Call::Kind::Gemm:
      multiply(call, (uint8_t *)pointers[0], (uint8_t *)pointers[1],
               (uint8_t *)pointers[2]);
      break;
    case Call::Kind::Attention:
    case Call::Kind::AttentionGrad:
      attend(call, pointers);
      break;
    case Call::Kind::Zero:
      std::memset(pointers[0], 0, call.bytes);
      break;
    case Call::Kind::Copy:
      std::memcpy(pointers[1], pointers[0], call.bytes);
      break;
    }
  }
  for (auto [index, bytes] : llvm::enumerate(memory)) {
    bool isIntact = std::all_of(bytes.end() - kGuard, bytes.end(),
                                [](uint8_t byte) { return byte == 0xa5; });
    EXPECT_TRUE(isIntact) << "@" << function << " wrote behind argument "
                          << index;
    bytes.resize(bytes.size() - kGuard);
    if (index < arguments.size()) {
      EXPECT_EQ(bytes, arguments[index])
          << "@" << function << " wrote to input " << index;
    }
  }
  if (status)
    *status = sum;
  return {memory.begin() + arguments.size(), memory.end() - 1};
}

std::vector<nn::HostTensor>
CompiledModule::evaluate(const std::string &name,
                         const std::vector<nn::HostTensor> &arguments) const {
  auto function = source.get().lookupSymbol<func::FuncOp>(name);
  FailureOr<SmallVector<nn::HostTensor>> results =
      nn::evaluateFunction(function, arguments);
  if (failed(results)) {
    ADD_FAILURE() << "the interpreter failed on @" << name;
    return {};
  }
  return {results->begin(), results->end()};
}

std::vector<nn::HostTensor>
CompiledModule::makeArguments(const std::string &name, unsigned seed) const {
  auto function = source.get().lookupSymbol<func::FuncOp>(name);
  std::mt19937 random(seed);
  auto uniform = [&] { return double(random()) / double(std::mt19937::max()); };
  std::vector<nn::HostTensor> arguments;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    nn::HostTensor tensor(
        cast<RankedTensorType>(function.getArgumentTypes()[index]));
    auto getBound = [&](StringRef attr, double otherwise) {
      auto bound = function.getArgAttrOfType<FloatAttr>(index, attr);
      return bound ? bound.getValueAsDouble() : otherwise;
    };
    if (tensor.isFloat()) {
      double low = getBound("nn.low", -2), high = getBound("nn.high", 2);
      for (double &value : tensor.floats())
        value = low + (high - low) * uniform();
    } else {
      bool isBool = tensor.getType().getElementType().isInteger(1);
      double low = getBound("nn.low", 0),
             high = getBound("nn.high", isBool ? 2 : 4);
      for (int64_t &value : tensor.integers())
        value = std::min<int64_t>(std::floor(low + (high - low) * uniform()),
                                  high - 1);
    }
    tensor.round();
    arguments.push_back(tensor);
  }
  return arguments;
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

static double getTolerance(Type type) {
  if (type.isF32())
    return 4e-6;
  if (type.isBF16())
    return 0x1p-7;
  return type.isF16() ? 0x1p-10 : 1e-12;
}

static void compare(const std::string &what, const nn::HostTensor &actual,
                    const nn::HostTensor &expected, double tolerance) {
  if (!expected.isFloat()) {
    EXPECT_EQ(actual.integers(), expected.integers()) << what;
    return;
  }
  int64_t reported = 0;
  for (int64_t i = 0; i < expected.getNumElements(); ++i) {
    double x = actual.floats()[i], y = expected.floats()[i];
    if (x == y || (std::isnan(x) && std::isnan(y)) ||
        std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y)))
      continue;
    ADD_FAILURE() << what << " element " << i << ": " << x << ", reference "
                  << y;
    if (++reported == 3)
      return;
  }
}

void test::checkAll(const std::string &text,
                    const conversion::KernelOptions &options) {
  std::unique_ptr<MLIRContext> context = makeContext();
  CompiledModule module(*context, text, options);
  if (!module.isValid())
    return;
  OwningOpRef<ModuleOp> parsed =
      parseSourceString<ModuleOp>(text, context.get());
  for (const std::string &name : module.getFunctions()) {
    std::vector<nn::HostTensor> arguments = module.makeArguments(name, 7);
    std::vector<Bytes> bytes;
    for (const nn::HostTensor &argument : arguments)
      bytes.push_back(toBytes(argument));
    int status = 0;
    std::vector<Bytes> actual = module.run(name, bytes, &status);
    EXPECT_EQ(status, 0) << "@" << name;
    std::vector<nn::HostTensor> expected = module.evaluate(name, arguments);
    if (actual.size() != expected.size()) {
      ADD_FAILURE() << "@" << name << ": " << actual.size()
                    << " results, reference " << expected.size();
      continue;
    }
    auto function = parsed->lookupSymbol<func::FuncOp>(name);
    auto attr = function->getAttrOfType<FloatAttr>("nn.tolerance");
    for (auto [index, result] : llvm::enumerate(expected)) {
      double tolerance = attr ? attr.getValueAsDouble()
                              : getTolerance(result.getType().getElementType());
      compare("@" + name + " result " + std::to_string(index),
              fromBytes(result.getType(), actual[index].data()), result,
              tolerance);
    }
  }
}
