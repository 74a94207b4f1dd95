//===- PrintProgram.cpp - A program as text -------------------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "nlohmann/json.hpp"
#include "rondo/Dump/Dump.h"
#include "rondo/Runtime/ProgramFormat.h"
#include "rondo/Runtime/WeightFile.h"
#include <ostream>

using namespace rondo;
using namespace rondo::program;
using runtime::text;

namespace {

struct Bytes {
  double bytes;
};
std::ostream &operator<<(std::ostream &out, Bytes size) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  double value = size.bytes;
  while (value >= 1024 && unit < 4)
    value /= 1024, ++unit;
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, unit ? "%.2f %s" : "%.0f %s", value,
                units[unit]);
  return out << buffer;
}

struct Milliseconds {
  double ns;
};
std::ostream &operator<<(std::ostream &out, Milliseconds time) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.3f ms", time.ns / 1e6);
  return out << buffer;
}

} // namespace

/// A vector's elements; none where the vector is absent.
template <typename Vector>
class Elements {
public:
  explicit Elements(const Vector *vector) : vector(vector) {}
  auto begin() const {
    return vector ? vector->begin()
                  : typename Vector::const_iterator(nullptr, 0);
  }
  auto end() const {
    return vector ? vector->end() : typename Vector::const_iterator(nullptr, 0);
  }

private:
  const Vector *vector;
};
template <typename T>
static Elements<flatbuffers::Vector<T>>
orEmpty(const flatbuffers::Vector<T> *vector) {
  return Elements<flatbuffers::Vector<T>>(vector);
}

void dump::printPlan(const runtime::Program &loaded, std::ostream &out) {
  const Program &table = loaded.table();
  out << text(table.plan()) << "\n";
  out << "memory: " << Bytes{(double)table.device_bytes()} << " on each of "
      << table.devices() << " devices, " << Bytes{(double)table.pinned_bytes()}
      << " pinned, " << Bytes{(double)table.host_bytes()}
      << " of other host memory\n";
  if (const Prediction *prediction = table.prediction())
    out << "predicted: a step takes "
        << Milliseconds{prediction->iteration_ns()} << " (the first "
        << Milliseconds{prediction->first_ns()} << "), devices idle "
        << std::fixed << std::setprecision(1) << 100 * prediction->bubble()
        << " %, " << Bytes{(double)prediction->uploaded()} << " up and "
        << Bytes{(double)prediction->downloaded()} << " down a step\n";
}

void dump::printPlanJson(const runtime::Program &loaded, std::ostream &out) {
  const Program &table = loaded.table();
  nlohmann::ordered_json plan = {{"plan", text(table.plan())},
                                 {"devices", table.devices()},
                                 {"rounds", table.rounds()},
                                 {"micro_batches", table.micro_batches()},
                                 {"staleness", table.staleness()},
                                 {"rotation", table.rotation()},
                                 {"device_bytes", table.device_bytes()},
                                 {"pinned_bytes", table.pinned_bytes()},
                                 {"host_bytes", table.host_bytes()}};
  if (const Prediction *prediction = table.prediction())
    plan["predicted"] = {{"step_ns", prediction->iteration_ns()},
                         {"first_step_ns", prediction->first_ns()},
                         {"bubble", prediction->bubble()},
                         {"uploaded_bytes", prediction->uploaded()},
                         {"downloaded_bytes", prediction->downloaded()}};
  out << plan.dump(2) << "\n";
}

static void printOperand(const Operand &operand, std::ostream &out) {
  const char *access[] = {"?", "r", "w", "rw"};
  out << access[operand.access() & 3] << " #";
  for (uint32_t i = 0; i < runtime::sizeOf(operand.buffers()); ++i)
    out << (i ? "|#" : "") << operand.buffers()->Get(i);
  if (operand.phase())
    out << " phase " << operand.phase();
  if (operand.offset())
    out << " + " << operand.offset();
  out << " (" << operand.bytes() << " B)";
}

static void printOp(uint32_t number, const Op &op, const Program &table,
                    std::ostream &out) {
  out << "  %" << number << " " << EnumNameOpKind(op.kind()) << " \""
      << text(op.name()) << "\" " << EnumNameLane(op.lane());
  if (op.device() >= 0)
    out << " device " << op.device();
  if (op.entry() >= 0)
    out << " entry " << text(table.entries()->Get(op.entry())->name());
  for (const Operand *operand : orEmpty(op.operands())) {
    out << ", ";
    printOperand(*operand, out);
  }
  if (runtime::sizeOf(op.waits())) {
    out << " after";
    for (const Wait *wait : *op.waits()) {
      out << " %" << wait->op();
      if (wait->distance())
        out << "@-" << wait->distance();
    }
  }
  out << " at " << Milliseconds{op.start()} << " for "
      << Milliseconds{op.duration()} << "\n";
}

static void printAttention(const Attention &attention, bool isGradient,
                           std::ostream &out) {
  out << " " << runtime::elementName(attention.type()) << " batch "
      << attention.batch() << " heads " << attention.heads();
  if (attention.key_heads() != attention.heads())
    out << " key heads " << attention.key_heads();
  out << " " << attention.rows() << "x" << attention.keys() << "x"
      << attention.depth();
  if (attention.value_depth() != attention.depth())
    out << " value depth " << attention.value_depth();
  out << (attention.causal() ? " causal" : "");
  if (attention.window())
    out << " window " << attention.window();
  if (isGradient)
    out << " blocks of " << attention.block_batch() << "x"
        << attention.block_heads() << "x" << attention.block_rows() << "x"
        << attention.block_keys();
  out << " workspace " << Bytes{(double)attention.workspace_bytes()};
}

static void printCall(const Call &call, std::ostream &out) {
  out << "    " << EnumNameCallKind(call.kind());
  if (call.kind() == CallKind::Kernel)
    out << " " << text(call.symbol()) << " [0, " << call.extent() << ")";
  if (const Gemm *gemm = call.gemm())
    out << " " << gemm->m() << "x" << gemm->n() << "x" << gemm->k()
        << (gemm->batch() > 1 ? " batch " + std::to_string(gemm->batch()) : "")
        << (gemm->transpose_a() ? " A^T" : "")
        << (gemm->transpose_b() ? " B^T" : "")
        << (gemm->accumulate() ? " accumulate" : "")
        << (gemm->bias() ? " bias" : "");
  if (const Attention *attention = call.attention())
    printAttention(*attention, call.kind() == CallKind::AttentionGrad, out);
  if (call.addresses())
    for (const Address *address : *call.addresses()) {
      out << " $" << address->argument();
      if (address->offset())
        out << "+" << address->offset();
    }
  if (runtime::sizeOf(call.grid()) == 3 && runtime::sizeOf(call.block()) == 3) {
    auto printExtents = [&](const flatbuffers::Vector<uint32_t> &extents) {
      out << extents.Get(0) << "x" << extents.Get(1) << "x" << extents.Get(2);
    };
    out << " on GPUs " << text(call.gpu_symbol()) << " grid ";
    printExtents(*call.grid());
    out << " block ";
    printExtents(*call.block());
  }
  if (call.node())
    out << "  ; " << text(call.node());
  out << "\n";
}

void dump::printProgram(const runtime::Program &loaded, std::ostream &out) {
  const Program &table = loaded.table();
  out << "program " << text(table.name()) << " of " << text(table.source())
      << ", made by " << text(table.producer()) << " for "
      << text(table.target()) << "\n";
  out << table.devices() << " devices, " << table.rounds() << " rounds of "
      << table.micro_batches() << " micro-batches, staleness "
      << table.staleness() << ", rotation " << table.rotation() << ", period "
      << table.period() << "\n";
  printPlan(loaded, out);
  out << "\ninputs (one micro-batch)\n";
  for (const Input *input : orEmpty(table.inputs()))
    out << "  " << text(input->name()) << " "
        << runtime::elementName(input->type()) << " "
        << runtime::shapeText(runtime::shapeOf(input->shape())) << "\n";
  out << "\nparameters\n";
  for (const Parameter *parameter : orEmpty(table.parameters())) {
    out << "  " << text(parameter->name());
    if (parameter->source() &&
        text(parameter->source()) != text(parameter->name()))
      out << " = " << text(parameter->source())
          << (parameter->transposed() ? " transposed" : "");
    out << " " << runtime::elementName(parameter->type()) << " "
        << runtime::shapeText(runtime::shapeOf(parameter->shape()))
        << (parameter->trainable()
                ? " trained, weight decay " +
                      std::to_string(parameter->weight_decay())
                : std::string(" frozen"))
        << ", block " << parameter->block() << " + "
        << parameter->member_offset() << "\n";
  }
  if (table.weight_files())
    out << "\nweight files\n";
  for (const WeightFile *file : orEmpty(table.weight_files()))
    out << "  " << text(file->location()) << " "
        << runtime::FileIdentity{file->size(), file->hash_low(),
                                 file->hash_high()}
               .text()
        << "\n";
  out << "\nbuffers\n";
  uint32_t number = 0;
  for (const Buffer *buffer : orEmpty(table.buffers())) {
    out << "  #" << number++ << " \"" << text(buffer->name()) << "\" "
        << EnumNameSpace(buffer->space());
    if (buffer->device() >= 0)
      out << " " << buffer->device();
    out << " [" << buffer->offset() << ", "
        << buffer->offset() + buffer->bytes() << ")\n";
  }
  if (runtime::sizeOf(table.device_code()))
    out << "\ncode for GPUs\n";
  for (const DeviceCode *code : orEmpty(table.device_code())) {
    if (code->ptx())
      out << "  PTX for " << text(code->arch()) << " and newer, "
          << Bytes{(double)code->ptx()->length()} << "\n";
    for (const Cubin *cubin : orEmpty(code->cubins()))
      if (cubin->code())
        out << "  machine code for " << text(cubin->arch()) << ", "
            << Bytes{(double)cubin->code()->length()} << "\n";
  }
  out << "\nentries\n";
  for (const Entry *entry : orEmpty(table.entries())) {
    out << "  " << text(entry->name()) << ": " << entry->arguments()
        << " arguments, scratch " << Bytes{(double)entry->scratch_bytes()}
        << ", " << entry->flops() << " flop, " << Milliseconds{entry->time()}
        << "\n";
    for (const Call *call : orEmpty(entry->calls()))
      printCall(*call, out);
  }
  out << "\noperations of an iteration, in issue order\n";
  number = 0;
  for (const Op *op : orEmpty(table.ops()))
    printOp(number++, *op, table, out);
}

runtime::Status dump::printPtx(const runtime::Program &loaded,
                               std::ostream &out) {
  if (!runtime::sizeOf(loaded.table().device_code()))
    return runtime::userError("the program has no code for GPUs; compile it "
                              "with --target=h200, or another GPU");
  for (const DeviceCode *code : *loaded.table().device_code()) {
    if (!code->ptx())
      continue;
    // Text up to the zero at its end.
    std::span<const std::byte> bytes = loaded.blob(code->ptx());
    std::string_view ptx((const char *)bytes.data(), bytes.size());
    out << ptx.substr(0, ptx.find('\0'));
  }
  return runtime::Status::success();
}

void dump::printArithmetic(const runtime::Program &loaded, bool asText,
                           std::ostream &out) {
  std::string_view canonical = text(loaded.table().arithmetic());
  if (asText)
    out << canonical;
  else
    out << runtime::hashText(canonical) << "\n";
}
