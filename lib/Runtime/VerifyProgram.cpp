//===- VerifyProgram.cpp - Whether a program's table is consistent --------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What runs later trusts every index and range checked here, so that a damaged
// or hostile file is an error and never a crash (its machine code excepted).
//
//===----------------------------------------------------------------------===//

#include "ProgramVerifier.h"
#include "rondo/Runtime/ProgramFormat.h"
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <set>
#include <vector>

using namespace rondo;
using namespace rondo::runtime;
using Verifier = ProgramVerifier;
using program::CallKind;
using program::Space;

void Verifier::fail(const char *pattern, ...) {
  if (++count > 20)
    return;
  va_list arguments;
  va_start(arguments, pattern);
  char line[1024];
  std::vsnprintf(line, sizeof line, pattern, arguments);
  va_end(arguments);
  problems += problems.empty() ? "" : "\n  ";
  problems += line;
}

/// Of an enumerator that the table holds.
static bool validType(program::ElementType type) {
  return elementBytes(type) != 0;
}

Status rondo::runtime::verifyProgram(const program::Program &table,
                                     uint64_t fileBytes) {
  return ProgramVerifier(table, fileBytes).run();
}

Status Verifier::run() {
  checkShape();
  if (!failed())
    checkBuffers();
  if (!failed()) {
    checkInputs();
    checkBlocks();
    checkEntries();
  }
  if (!failed())
    checkParameters();
  if (!failed())
    checkWeightFiles();
  if (!failed())
    checkOps();
  if (!failed())
    checkOrder();
  if (!failed())
    return Status::success();
  if (count > 20)
    problems += format("\n  and %u more", count - 20);
  return userError("inconsistent program:\n  " + problems);
}

void Verifier::checkShape() {
  // Limits far above any use keep products of these numbers in range.
  constexpr uint32_t limit = 1u << 16;
  if (table.devices() < 1 || table.devices() > limit)
    fail("%u devices", table.devices());
  else if (table.rotation() >= table.devices())
    fail("rotation %u of %u devices", table.rotation(), table.devices());
  if (table.rounds() < 1 || table.rounds() > limit ||
      table.micro_batches() < 1 || table.micro_batches() > limit)
    fail("%u rounds of %u micro-batches", table.rounds(),
         table.micro_batches());
  else if ((uint64_t)table.rounds() * table.micro_batches() > limit)
    fail("%u rounds of %u micro-batches are more than %u", table.rounds(),
         table.micro_batches(), limit);
  constexpr uint64_t most = uint64_t(1) << 60;
  if (table.device_bytes() > most || table.pinned_bytes() > most ||
      table.host_bytes() > most)
    fail("arenas of %llu, %llu and %llu bytes",
         (unsigned long long)table.device_bytes(),
         (unsigned long long)table.pinned_bytes(),
         (unsigned long long)table.host_bytes());
  if (!roundsGradients() &&
      table.gradient_transfer() != program::ElementType::F32)
    fail("gradients travel as element type %d", (int)table.gradient_transfer());
  checkBlob(table.kernels(), "the kernels");
  for (uint32_t i = 0; i < sizeOf(table.device_code()); ++i) {
    const program::DeviceCode &code = *table.device_code()->Get(i);
    checkBlob(code.ptx(), quoted("device code", i, code.arch()));
    for (uint32_t c = 0; c < sizeOf(code.cubins()); ++c)
      checkBlob(code.cubins()->Get(c)->code(),
                quoted("cubin", c, code.cubins()->Get(c)->arch()));
  }
  if (const program::Optimizer *optimizer = table.optimizer()) {
    if (optimizer->kind() != program::OptimizerKind::AdamW)
      fail("optimizer kind %d is unknown", (int)optimizer->kind());
    for (double value :
         {optimizer->learning_rate(), optimizer->beta1(), optimizer->beta2(),
          optimizer->epsilon(), optimizer->weight_decay(),
          optimizer->clip_norm(), optimizer->loss_scale()})
      if (!(value >= 0 && std::isfinite((float)value)))
        fail("an optimizer constant is %g", value);
    if (optimizer->loss_scale() > 0 && optimizer->scale_growth() == 0)
      fail("the loss scale grows after 0 steps");
  }
}

void Verifier::checkBlob(const program::Blob *blob, const std::string &what) {
  if (!blob || blob->length() == 0)
    return;
  if (blob->offset() % kBlobAlignment != 0 ||
      !fits(blob->offset(), blob->length(), fileBytes))
    fail("%s: bytes [%llu, +%llu) of a file of %llu", what.c_str(),
         (unsigned long long)blob->offset(), (unsigned long long)blob->length(),
         (unsigned long long)fileBytes);
}

void Verifier::checkBuffers() {
  for (uint32_t i = 0; i < sizeOf(table.buffers()); ++i) {
    const program::Buffer &buffer = *table.buffers()->Get(i);
    std::string what = quoted("buffer", i, buffer.name());
    uint64_t arena = 0;
    bool device = false;
    switch (buffer.space()) {
    case Space::Device:
      arena = table.device_bytes();
      device = true;
      break;
    case Space::Pinned:
      arena = table.pinned_bytes();
      break;
    case Space::Host:
      arena = table.host_bytes();
      break;
    default:
      fail("%s: space %d is unknown", what.c_str(), (int)buffer.space());
      continue;
    }
    if (device ? buffer.device() < -1 ||
                     buffer.device() >= (int64_t)table.devices()
               : buffer.device() != -1)
      fail("%s: on device %d of %u", what.c_str(), buffer.device(),
           table.devices());
    if (buffer.offset() % 256 != 0)
      fail("%s: offset %llu is not a multiple of 256", what.c_str(),
           (unsigned long long)buffer.offset());
    if (!fits(buffer.offset(), buffer.bytes(), arena))
      fail("%s: bytes [%llu, +%llu) of an arena of %llu", what.c_str(),
           (unsigned long long)buffer.offset(),
           (unsigned long long)buffer.bytes(), (unsigned long long)arena);
  }
}

void Verifier::checkInputs() {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < sizeOf(table.inputs()); ++i) {
    const program::Input &input = *table.inputs()->Get(i);
    std::string what = quoted("input", i, input.name());
    uint64_t elements = 0;
    if (!validType(input.type()))
      fail("%s: element type %d is unknown", what.c_str(), (int)input.type());
    if (!countElements(input.shape(), elements) || elements == 0)
      fail("%s: shape %s", what.c_str(),
           shapeText(shapeOf(input.shape())).c_str());
    if (text(input.name()).empty() || !names.insert(text(input.name())).second)
      fail("%s: its name is empty or taken", what.c_str());
  }
}

void Verifier::checkBufferList(const flatbuffers::Vector<uint32_t> *buffers,
                               const std::string &what, uint64_t bytes,
                               Space space, bool pinnedToo) {
  if (!buffers)
    return;
  for (uint32_t index : *buffers) {
    if (index >= sizeOf(table.buffers())) {
      fail("%s: buffer %u of %u", what.c_str(), index, sizeOf(table.buffers()));
      continue;
    }
    const program::Buffer &buffer = *table.buffers()->Get(index);
    if (buffer.space() != space &&
        !(pinnedToo && buffer.space() == Space::Pinned))
      fail("%s: buffer %u is in space %d", what.c_str(), index,
           (int)buffer.space());
    if (buffer.bytes() < bytes)
      fail("%s: buffer %u has %llu bytes, %llu are needed", what.c_str(), index,
           (unsigned long long)buffer.bytes(), (unsigned long long)bytes);
  }
}

void Verifier::checkBlocks() {
  for (uint32_t i = 0; i < sizeOf(table.blocks()); ++i) {
    const program::Block &block = *table.blocks()->Get(i);
    std::string what = quoted("block", i, block.name());
    checkBufferList(block.upload(), what + " upload", block.upload_bytes(),
                    Space::Pinned, true);
    // Sums over rounds and tied uses lie in host memory, what one download
    // brings in the pinned arena.
    checkBufferList(block.gradients(), what + " gradients",
                    block.gradient_bytes() / (roundsGradients() ? 2 : 1),
                    Space::Host, true);
    checkBufferList(block.master(), what + " master", 0, Space::Host, true);
    checkBufferList(block.moments(), what + " moments", 0, Space::Host, true);
  }
}

void Verifier::checkParameters() {
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i) {
    const program::Parameter &parameter = *table.parameters()->Get(i);
    std::string what = quoted("parameter", i, parameter.name());
    uint64_t elements = 0;
    if (text(parameter.name()).empty() ||
        !names.insert(text(parameter.name())).second)
      fail("%s: its name is empty or taken", what.c_str());
    if (!validType(parameter.type()) || !validType(parameter.upload_type())) {
      fail("%s: element types %d and %d", what.c_str(), (int)parameter.type(),
           (int)parameter.upload_type());
      continue;
    }
    bool isFloat = parameter.type() <= program::ElementType::F64;
    if (parameter.type() != parameter.upload_type() &&
        !(isFloat && parameter.upload_type() <= program::ElementType::F64))
      fail("%s: stored as %s, uploaded as %s", what.c_str(),
           elementName(parameter.type()), elementName(parameter.upload_type()));
    if (!countElements(parameter.shape(), elements)) {
      fail("%s: shape %s", what.c_str(),
           shapeText(shapeOf(parameter.shape())).c_str());
      continue;
    }
    if ((parameter.transposed() || sizeOf(parameter.copies_transposed())) &&
        sizeOf(parameter.shape()) != 2)
      fail("%s: transposed, but of rank %u", what.c_str(),
           sizeOf(parameter.shape()));
    if (parameter.copies_transposed() &&
        sizeOf(parameter.copies_transposed()) != sizeOf(parameter.copies()))
      fail("%s: %u copies, %u flags", what.c_str(), sizeOf(parameter.copies()),
           sizeOf(parameter.copies_transposed()));
    checkBlob(parameter.value(), what + " value");
    if (parameter.value() && parameter.value()->length() != 0 &&
        parameter.value()->length() !=
            elements * elementBytes(parameter.type()))
      fail("%s: a value of %llu bytes for %llu elements of %s", what.c_str(),
           (unsigned long long)parameter.value()->length(),
           (unsigned long long)elements, elementName(parameter.type()));
    if (parameter.block() >= sizeOf(table.blocks())) {
      fail("%s: block %u of %u", what.c_str(), parameter.block(),
           sizeOf(table.blocks()));
      continue;
    }
    const program::Block &block = *table.blocks()->Get(parameter.block());
    uint64_t bytes = elements * elementBytes(parameter.upload_type());
    if (sizeOf(block.upload()) == 0 ||
        !fits(parameter.member_offset(), bytes, block.upload_bytes()) ||
        parameter.member_offset() % elementBytes(parameter.upload_type()) != 0)
      fail("%s: bytes [%llu, +%llu) of a block of %llu", what.c_str(),
           (unsigned long long)parameter.member_offset(),
           (unsigned long long)bytes, (unsigned long long)block.upload_bytes());
    if (!parameter.trainable())
      continue;
    if (!isFloat)
      fail("%s: trainable, but of %s", what.c_str(),
           elementName(parameter.type()));
    if (parameter.gradient_offset() < 0 ||
        parameter.gradient_offset() % 4 != 0 ||
        !fits((uint64_t)parameter.gradient_offset(), 4 * elements,
              block.gradient_bytes()))
      fail("%s: gradient at %lld of %llu bytes", what.c_str(),
           (long long)parameter.gradient_offset(),
           (unsigned long long)block.gradient_bytes());
    if (parameter.state_offset() < 0 || parameter.state_offset() % 4 != 0 ||
        sizeOf(block.master()) == 0 || sizeOf(block.moments()) == 0) {
      fail("%s: trainable without optimizer state", what.c_str());
      continue;
    }
    uint64_t offset = masterOffset(table, parameter);
    checkBufferList(block.master(), what + " master", offset + 4 * elements,
                    Space::Host, true);
    checkBufferList(block.moments(), what + " moments",
                    (uint64_t)parameter.state_offset() + 4 * elements,
                    Space::Host, true);
  }
}

/// Each is named once, by some parameter, and was as long as they need.
void Verifier::checkWeightFiles() {
  std::map<std::string_view, uint64_t> needed;
  for (uint32_t i = 0; i < sizeOf(table.parameters()); ++i) {
    const program::Parameter &parameter = *table.parameters()->Get(i);
    uint64_t end = parameter.offset() + parameter.length(),
             &most = needed[text(parameter.location())];
    most = std::max(most, end < parameter.offset() ? UINT64_MAX : end);
  }
  std::set<std::string_view> names;
  for (uint32_t i = 0; i < sizeOf(table.weight_files()); ++i) {
    const program::WeightFile &file = *table.weight_files()->Get(i);
    std::string what = quoted("weight file", i, file.location());
    auto user = needed.find(text(file.location()));
    if (text(file.location()).empty() || user == needed.end())
      fail("%s: no parameter is in it", what.c_str());
    else if (!names.insert(text(file.location())).second)
      fail("%s: described twice", what.c_str());
    else if (user->second > file.size())
      fail("%s: parameters end at byte %llu of %llu", what.c_str(),
           (unsigned long long)user->second, (unsigned long long)file.size());
  }
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

void Verifier::checkEntries() {
  needed.resize(sizeOf(table.entries()));
  for (uint32_t i = 0; i < sizeOf(table.entries()); ++i) {
    const program::Entry &entry = *table.entries()->Get(i);
    std::string what = quoted("entry", i, entry.name());
    if (entry.arguments() > 4096) {
      fail("%s: %u arguments", what.c_str(), entry.arguments());
      continue;
    }
    needed[i].assign(entry.arguments(), 0);
    if (entry.scratch_bytes() > 0)
      needed[i].push_back(entry.scratch_bytes());
    for (uint32_t c = 0; c < sizeOf(entry.calls()); ++c)
      checkCall(*entry.calls()->Get(c), what + " call " + std::to_string(c),
                needed[i]);
  }
  checkLabelEntry();
}

/// Its count is the argument after the inputs.
void Verifier::checkLabelEntry() {
  if (table.label_entry() < 0)
    return;
  if ((uint32_t)table.label_entry() >= sizeOf(table.entries())) {
    fail("label entry %d of %u", table.label_entry(), sizeOf(table.entries()));
    return;
  }
  const std::vector<uint64_t> &bytes = needed[(size_t)table.label_entry()];
  uint32_t inputs = sizeOf(table.label_inputs()),
           arguments =
               table.entries()->Get((uint32_t)table.label_entry())->arguments();
  if (arguments != inputs + 1 || bytes.size() < arguments) {
    fail("label entry: %u arguments for %u inputs and a count", arguments,
         inputs);
    return;
  }
  for (uint32_t i = 0; i < inputs; ++i) {
    uint32_t number = table.label_inputs()->Get(i);
    if (number >= sizeOf(table.inputs())) {
      fail("label entry: input %u of %u", number, sizeOf(table.inputs()));
      continue;
    }
    const program::Input &input = *table.inputs()->Get(number);
    uint64_t elements = 0;
    countElements(input.shape(), elements);
    if (bytes[i] > elements * elementBytes(input.type()))
      fail("label entry: argument %u has %llu bytes, its calls touch %llu", i,
           (unsigned long long)(elements * elementBytes(input.type())),
           (unsigned long long)bytes[i]);
  }
  if (bytes[inputs] > 4)
    fail("label entry: the count has 4 bytes, its calls touch %llu",
         (unsigned long long)bytes[inputs]);
}

/// Elements that a matrix of rows x columns with a leading dimension spans, in
/// `batch` copies `stride` apart. False: overflow or a leading dimension too
/// small.
static bool matrixSpan(int64_t rows, int64_t columns, int64_t leading,
                       int64_t stride, int64_t batch, uint64_t &elements) {
  if (leading < std::max<int64_t>(columns, 1) || stride < 0)
    return false;
  elements = 0;
  if (rows == 0 || columns == 0 || batch == 0)
    return true;
  uint64_t last, rowsBefore;
  if (__builtin_mul_overflow((uint64_t)(batch - 1), (uint64_t)stride, &last) ||
      __builtin_mul_overflow((uint64_t)(rows - 1), (uint64_t)leading,
                             &rowsBefore) ||
      __builtin_add_overflow(last, rowsBefore, &elements) ||
      __builtin_add_overflow(elements, (uint64_t)columns, &elements))
    return false;
  return elements < (uint64_t(1) << 58);
}

/// The limits of every GPU; shared memory is compared with the GPU at hand.
void Verifier::checkLaunchShape(const program::Call &call,
                                const std::string &what) {
  if (text(call.gpu_symbol()).empty())
    return;
  if (sizeOf(call.grid()) != 3 || sizeOf(call.block()) != 3) {
    fail("%s: a grid of %u numbers and a block of %u, not three each",
         what.c_str(), sizeOf(call.grid()), sizeOf(call.block()));
    return;
  }
  uint64_t threads = 1;
  for (uint32_t extent : *call.block())
    threads *= std::min(extent, 2048u);
  if (threads < 1 || threads > 1024)
    fail("%s: blocks of %u x %u x %u threads, not 1 to 1024", what.c_str(),
         call.block()->Get(0), call.block()->Get(1), call.block()->Get(2));
  if (call.grid()->Get(0) > INT32_MAX || call.grid()->Get(1) > 65535 ||
      call.grid()->Get(2) > 65535)
    fail("%s: a grid of %u x %u x %u blocks", what.c_str(), call.grid()->Get(0),
         call.grid()->Get(1), call.grid()->Get(2));
  if (call.shared_bytes() > 1u << 20)
    fail("%s: %u bytes of shared memory", what.c_str(), call.shared_bytes());
}

void Verifier::checkIndices(
    const program::Call &call, const std::string &what,
    const std::function<void(uint32_t, uint64_t)> &touch) {
  uint32_t tuple = sizeOf(call.index_extents());
  if (tuple == 0)
    return;
  bool integers = call.index_type() == program::ElementType::I64 ||
                  call.index_type() == program::ElementType::I32;
  bool positive = call.index_rows() >= 0;
  for (int64_t extent : *call.index_extents())
    positive &= extent >= 0;
  uint64_t bytes = 0;
  if (!integers || !positive || sizeOf(call.addresses()) < 2 ||
      __builtin_mul_overflow((uint64_t)call.index_rows(),
                             tuple * elementBytes(call.index_type()), &bytes))
    fail("%s: %lld rows of %u indices of type %d in %u pointers", what.c_str(),
         (long long)call.index_rows(), tuple, (int)call.index_type(),
         sizeOf(call.addresses()));
  else
    touch(1, bytes);
}

/// What machine code does with its pointers only the compiler knows; the table
/// says how far it goes, by the range that it is run over.
void Verifier::checkReach(
    const program::Call &call, const std::string &what,
    const std::function<void(uint32_t, uint64_t)> &touch) {
  if (sizeOf(call.reach()) != sizeOf(call.addresses())) {
    fail("%s: kernel '%s' with %u pointers, but the reach of %u", what.c_str(),
         std::string(text(call.symbol())).c_str(), sizeOf(call.addresses()),
         sizeOf(call.reach()));
    return;
  }
  for (uint32_t i = 0; i < sizeOf(call.reach()); ++i) {
    const program::Reach &reach = *call.reach()->Get(i);
    // Nothing overflows in 128 bits.
    __int128 extent = call.extent() > call.begin() ? call.extent() : 0,
             begin = reach.begin() + reach.begin_step() * extent,
             end = reach.end() + reach.end_step() * extent;
    if (extent == 0 || begin >= end)
      begin = end = 0;
    uint64_t offset = call.addresses()->Get(i)->offset();
    if (reach.begin_step() > 0 || reach.end_step() < 0 || begin + offset < 0 ||
        end > INT64_MAX)
      fail("%s: kernel '%s' over [%lld, %lld) reaches outside of argument %u, "
           "from byte %llu on",
           what.c_str(), std::string(text(call.symbol())).c_str(),
           (long long)call.begin(), (long long)call.extent(),
           call.addresses()->Get(i)->argument(), (unsigned long long)offset);
    else
      touch(i, end > 0 ? (uint64_t)end : 0);
  }
}

void Verifier::checkCall(const program::Call &call, const std::string &what,
                         std::vector<uint64_t> &needed) {
  auto touch = [&](uint32_t address, uint64_t bytes) {
    const program::Address &place = *call.addresses()->Get(address);
    if (place.argument() >= needed.size()) {
      fail("%s: argument %u of %zu", what.c_str(), place.argument(),
           needed.size());
      return;
    }
    uint64_t end;
    if (__builtin_add_overflow(place.offset(), bytes, &end)) {
      fail("%s: offset %llu", what.c_str(), (unsigned long long)place.offset());
      return;
    }
    needed[place.argument()] = std::max(needed[place.argument()], end);
  };
  uint32_t addresses = sizeOf(call.addresses());
  auto expect = [&](uint32_t expected) {
    if (addresses != expected)
      fail("%s: %u addresses, not %u", what.c_str(), addresses, expected);
    return addresses == expected;
  };
  switch (call.kind()) {
  case CallKind::Kernel:
    if (text(call.symbol()).empty() || call.begin() < 0 ||
        call.extent() < call.begin() || addresses > 4096)
      fail("%s: kernel '%s' over [%lld, %lld) with %u pointers", what.c_str(),
           std::string(text(call.symbol())).c_str(), (long long)call.begin(),
           (long long)call.extent(), addresses);
    checkReach(call, what, touch);
    checkIndices(call, what, touch);
    checkLaunchShape(call, what);
    return;
  case CallKind::Zero:
    if (expect(1))
      touch(0, call.bytes());
    return;
  case CallKind::Copy:
    if (expect(2)) {
      touch(0, call.bytes());
      touch(1, call.bytes());
    }
    return;
  case CallKind::Attention:
  case CallKind::AttentionGrad: {
    std::vector<uint64_t> bytes = checkAttention(call, what);
    if (bytes.empty() || !expect((uint32_t)bytes.size()))
      return;
    for (uint32_t i = 0; i < addresses; ++i) {
      if (call.addresses()->Get(i)->offset() % 16)
        fail("%s: address %u is not a multiple of 16 bytes", what.c_str(), i);
      touch(i, bytes[i]);
    }
    return;
  }
  case CallKind::Gemm:
    break;
  default:
    fail("%s: kind %d is unknown", what.c_str(), (int)call.kind());
    return;
  }
  const program::Gemm *gemm = call.gemm();
  if (!gemm) {
    fail("%s: a product without its description", what.c_str());
    return;
  }
  // CBLAS counts in int.
  constexpr int64_t most = INT32_MAX;
  for (int64_t value : {gemm->m(), gemm->n(), gemm->k(), gemm->batch(),
                        gemm->lda(), gemm->ldb(), gemm->ldc()})
    if (value < 0 || value > most) {
      fail("%s: an extent or leading dimension is %lld", what.c_str(),
           (long long)value);
      return;
    }
  for (program::ElementType type :
       {gemm->type_a(), gemm->type_b(), gemm->type_c()})
    if (type > program::ElementType::F16)
      fail("%s: a product of element type %d", what.c_str(), (int)type);
  uint64_t a = 0, b = 0, c = 0;
  bool ta = gemm->transpose_a(), tb = gemm->transpose_b();
  if (!matrixSpan(ta ? gemm->k() : gemm->m(), ta ? gemm->m() : gemm->k(),
                  gemm->lda(), gemm->stride_a(), gemm->batch(), a) ||
      !matrixSpan(tb ? gemm->n() : gemm->k(), tb ? gemm->k() : gemm->n(),
                  gemm->ldb(), gemm->stride_b(), gemm->batch(), b) ||
      !matrixSpan(gemm->m(), gemm->n(), gemm->ldc(), gemm->stride_c(),
                  gemm->batch(), c)) {
    fail("%s: %lld x %lld x %lld x %lld with leading dimensions %lld, %lld, "
         "%lld",
         what.c_str(), (long long)gemm->batch(), (long long)gemm->m(),
         (long long)gemm->n(), (long long)gemm->k(), (long long)gemm->lda(),
         (long long)gemm->ldb(), (long long)gemm->ldc());
    return;
  }
  if (gemm->bias() &&
      (gemm->accumulate() || gemm->batch() != 1 || gemm->k() == 0))
    fail("%s: a bias of a product that adds, of %lld in a batch, or of %lld "
         "terms",
         what.c_str(), (long long)gemm->batch(), (long long)gemm->k());
  if (failed() || !expect(gemm->bias() ? 4 : 3))
    return;
  touch(0, a * elementBytes(gemm->type_a()));
  touch(1, b * elementBytes(gemm->type_b()));
  touch(2, c * elementBytes(gemm->type_c()));
  if (gemm->bias())
    touch(3, (uint64_t)gemm->n() * elementBytes(gemm->type_c()));
}
