//===- VerifyTest.cpp - Every inconsistency of a table is named -----------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

using namespace rondo;
using namespace rondo::runtime;
using namespace rondo::runtime::testing;
using program::ProgramT;

namespace {

struct Case {
  const char *name;
  const char *message; ///< Part of it.
  std::function<void(ProgramT &)> damage;
};

program::OpT &find(ProgramT &table, program::OpKind kind) {
  for (auto &op : table.ops)
    if (op->kind == kind)
      return *op;
  std::abort();
}

uint32_t indexOf(ProgramT &table, program::OpKind kind) {
  for (uint32_t i = 0; i < table.ops.size(); ++i)
    if (table.ops[i]->kind == kind)
      return i;
  std::abort();
}

void addWeightFile(ProgramT &table, const char *location, uint64_t size) {
  auto file = std::make_unique<program::WeightFileT>();
  file->location = location;
  file->size = size;
  table.weight_files.push_back(std::move(file));
}

/// Makes the first call attention over one argument, right but for its size.
program::CallT &makeAttention(ProgramT &table, bool isGradient) {
  program::CallT &call = *table.entries[0]->calls[0];
  call.kind = isGradient ? program::CallKind::AttentionGrad
                         : program::CallKind::Attention;
  call.addresses.assign(isGradient ? 10 : 6, program::Address(0, 0));
  call.attention = std::make_unique<program::AttentionT>();
  program::AttentionT &attention = *call.attention;
  attention.batch = 2;
  attention.heads = 4;
  attention.key_heads = 2;
  attention.rows = attention.keys = 32;
  attention.depth = attention.value_depth = 16;
  attention.causal = true;
  attention.type = program::ElementType::BF16;
  for (uint32_t i = 0; i < (isGradient ? 8 : 4); ++i)
    attention.strides.insert(attention.strides.end(),
                             {i == 1 || i == 2 ? 1024 : 2048, 512, 16});
  attention.workspace_bytes = attention.library_bytes = 4096;
  attention.block_batch = 1;
  attention.block_heads = 2;
  attention.block_rows = attention.block_keys = 32;
  return call;
}

class VerifyTest : public ::testing::TestWithParam<Case> {};

using program::OpKind;
using ProgramLane = program::Lane;

const Case kCases[] = {
    {"Devices", "0 devices", [](ProgramT &t) { t.devices = 0; }},
    {"Rotation", "rotation 2 of 2 devices", [](ProgramT &t) { t.rotation = 2; }},
    {"Rounds", "0 rounds", [](ProgramT &t) { t.rounds = 0; }},
    {"ManyMicroBatches", "micro-batches are more than", [](ProgramT &t) { t.rounds = t.micro_batches = 65536; }},
    {"Arena", "arenas of", [](ProgramT &t) { t.device_bytes = ~0ull; }},
    {"KernelsBlob", "the kernels: bytes", [](ProgramT &t) { t.kernels = std::make_unique<program::BlobT>(); t.kernels->offset = 4096; t.kernels->length = ~0ull; }},
    {"OptimizerConstant", "an optimizer constant is", [](ProgramT &t) { t.optimizer->epsilon = -1; }},
    {"OptimizerKind", "optimizer kind 9", [](ProgramT &t) { t.optimizer->kind = (program::OptimizerKind)9; }},
    {"BufferSpace", "space 7 is unknown", [](ProgramT &t) { t.buffers[0]->space = (program::Space)7; }},
    {"BufferDevice", "on device 5 of 2", [](ProgramT &t) { t.buffers[0]->device = 5; }},
    {"BufferAlignment", "not a multiple of 256", [](ProgramT &t) { t.buffers[0]->offset = 8; }},
    {"BufferRange", "of an arena of", [](ProgramT &t) { t.buffers[0]->bytes = ~0ull - 3; }},
    {"InputType", "element type 77", [](ProgramT &t) { t.inputs[0]->type = (program::ElementType)77; }},
    {"InputShape", "shape [0, 264]", [](ProgramT &t) { t.inputs[0]->shape[0] = 0; }},
    {"InputOverflow", "shape [4611686018427387904", [](ProgramT &t) { t.inputs[0]->shape = {1ll << 62, 1ll << 62}; }},
    {"InputName", "its name is empty or taken", [](ProgramT &t) { t.inputs[1]->name = "x"; }},
    {"BlockBuffer", "block 1 'block 1' upload: buffer 9999", [](ProgramT &t) { t.blocks[1]->upload[0] = 9999; }},
    {"BlockSpace", "moments: buffer", [](ProgramT &t) { for (uint32_t i = 0; i < t.buffers.size(); ++i) if (t.buffers[i]->space == program::Space::Device) t.blocks[0]->moments[0] = i; }},
    {"BlockBytes", "are needed", [](ProgramT &t) { t.blocks[0]->upload_bytes *= 2; }},
    {"ParameterName", "its name is empty or taken", [](ProgramT &t) { t.parameters[1]->name.clear(); }},
    {"ParameterType", "element types 0 and 88", [](ProgramT &t) { t.parameters[1]->upload_type = (program::ElementType)88; }},
    {"ParameterConversion", "stored as float32, uploaded as int64", [](ProgramT &t) { t.parameters[1]->upload_type = program::ElementType::I64; }},
    {"ParameterShape", "shape [-4]", [](ProgramT &t) { t.parameters[2]->shape = {-4}; }},
    {"ParameterTransposed", "transposed, but of rank 1", [](ProgramT &t) { t.parameters[2]->transposed = true; }},
    {"ParameterCopies", "1 copies, 2 flags", [](ProgramT &t) { t.parameters[3]->copies_transposed = {true, true}; }},
    {"ParameterBlock", "block 4 of 2", [](ProgramT &t) { t.parameters[1]->block = 4; }},
    {"ParameterOffset", "of a block of", [](ProgramT &t) { t.parameters[1]->member_offset = ~0ull - 7; }},
    {"ParameterGradient", "gradient at -1", [](ProgramT &t) { t.parameters[1]->gradient_offset = -1; }},
    {"ParameterState", "trainable without optimizer state", [](ProgramT &t) { t.parameters[1]->state_offset = -1; }},
    {"ParameterStateRange", "moments: buffer", [](ProgramT &t) { t.parameters[1]->state_offset = 1 << 30; }},
    {"ParameterValue", "a value of 8 bytes", [](ProgramT &t) { t.parameters[1]->value = std::make_unique<program::BlobT>(); t.parameters[1]->value->length = 8; }},
    {"TrainableInteger", "trainable, but of int64", [](ProgramT &t) { t.parameters[2]->type = t.parameters[2]->upload_type = program::ElementType::I64; }},
    {"CallKind", "kind 9 is unknown", [](ProgramT &t) { t.entries[0]->calls[0]->kind = (program::CallKind)9; }},
    {"CallArgument", "argument 40 of 5", [](ProgramT &t) { t.entries[0]->calls[0]->addresses[1] = program::Address(40, 0); }},
    {"CallOffset", "its calls touch", [](ProgramT &t) { t.entries[0]->calls[0]->addresses[1] = program::Address(1, 1 << 20); }},
    {"CallOffsetOverflow", "offset 18446744073709551615", [](ProgramT &t) { t.entries[0]->calls[0]->addresses[1] = program::Address(1, ~0ull); }},
    {"KernelReaches", "with 3 pointers, but the reach of 2", [](ProgramT &t) { t.entries[0]->calls[1]->reach.pop_back(); }},
    {"KernelRange", "argument 4 has 4224 bytes, its calls touch 65920", [](ProgramT &t) { t.entries[0]->calls[1]->extent = 16480; }},
    {"KernelRangeHuge", "kernel 'add_bias' over [0, 9223372036854775807) reaches outside of argument 4, from byte 0 on", [](ProgramT &t) { t.entries[0]->calls[1]->extent = INT64_MAX; }},
    {"KernelOffset", "argument 2 has 1056 bytes, its calls touch 1060", [](ProgramT &t) { t.entries[0]->calls[1]->addresses[1] = program::Address(2, 4); }},
    {"KernelBefore", "over [0, 1056) reaches outside of argument 4, from byte 0 on", [](ProgramT &t) { t.entries[0]->calls[1]->reach[0] = program::Reach(4220, 4224, -4, 0); }},
    {"KernelShrinks", "over [0, 1056) reaches outside of argument 4, from byte 0 on", [](ProgramT &t) { t.entries[0]->calls[1]->reach[0] = program::Reach(0, 8448, 0, -4); }},
    {"EntryOfNone", "entry 2147483646 of 4", [](ProgramT &t) { find(t, program::OpKind::Upload).entry = INT32_MAX - 1; }},
    {"BlockOfNone", "block -2 of 2", [](ProgramT &t) { find(t, program::OpKind::Launch).block = -2; }},
    {"InputOfNone", "input 2 of 2", [](ProgramT &t) { find(t, program::OpKind::Launch).input = 2; }},
    {"CallAddresses", "2 addresses, not 3", [](ProgramT &t) { t.entries[0]->calls[0]->addresses.pop_back(); }},
    {"CallGemm", "a product without its description", [](ProgramT &t) { t.entries[0]->calls[0]->gemm.reset(); }},
    {"GemmExtent", "an extent or leading dimension is -1", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->k = -1; }},
    {"GemmLeading", "with leading dimensions 3,", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->lda = 3; }},
    {"GemmSize", "its calls touch", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->m = 4000; }},
    {"GemmStride", "with leading dimensions", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->batch = 3; t.entries[0]->calls[0]->gemm->stride_c = INT64_MAX; }},
    {"GemmType", "a product of element type 4", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->type_a = program::ElementType::I64; }},
    {"GemmBias", "3 addresses, not 4", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->bias = true; }},
    {"GemmBiasAdds", "a bias of a product that adds, of 1 in a batch", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->bias = t.entries[0]->calls[0]->gemm->accumulate = true; }},
    {"GemmBiasBatch", "of 2 in a batch", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->bias = true; t.entries[0]->calls[0]->gemm->batch = 2; }},
    {"GemmBiasTerms", "of 0 terms", [](ProgramT &t) { t.entries[0]->calls[0]->gemm->bias = true; t.entries[0]->calls[0]->gemm->k = 0; }},
    {"GemmBiasSize", "its calls touch", [](ProgramT &t) { program::CallT &call = *t.entries[0]->calls[0]; call.gemm->bias = true; call.addresses.push_back(program::Address(call.addresses[2].argument(), 1 << 20)); }},
    {"AttentionMissing", "attention with 0 strides, not 12", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention.reset(); }},
    {"AttentionStrides", "attention with 11 strides, not 12", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->strides.pop_back(); }},
    {"AttentionExtent", "an extent of attention is 0", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->rows = 0; }},
    {"AttentionHeads", "4 heads, 3 key heads", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->key_heads = 3; }},
    {"AttentionDepth", "rows of 12 and 16 elements, not multiples of 8", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->depth = 12; }},
    {"AttentionCausal", "causal with 32 rows and 31 keys", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->keys = 31; }},
    {"AttentionWindow", "a window of -1, or without causal", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->window = -1; }},
    {"AttentionScale", "a scale of inf", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->scale = HUGE_VALF; }},
    {"AttentionType", "attention of element type 0", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->type = program::ElementType::F32; }},
    {"AttentionStride", "matrix 1 has strides 1024, 512, 8", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->strides[5] = 8; }},
    {"AttentionOverlong", "matrix 0 has strides", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->strides[0] = INT64_MAX - 7; }},
    {"AttentionRows", "x 2147483647 rows", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->batch = c.attention->heads = c.attention->key_heads = c.attention->rows = c.attention->keys = INT32_MAX; for (auto &s : c.attention->strides) s = 16; }},
    {"AttentionWorkspace", "a workspace of 18446744073709551615 bytes", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.attention->workspace_bytes = ~0ull; }},
    {"AttentionAddress", "address 2 is not a multiple of 16 bytes", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.addresses[2] = program::Address(0, 8); }},
    {"AttentionAddresses", "5 addresses, not 6", [](ProgramT &t) { program::CallT &c = makeAttention(t, false); c.addresses.pop_back(); }},
    {"AttentionBlocks", "blocks of 1 x 3 x 32 rows x 32 keys of 2 x 4 x 32 x 32", [](ProgramT &t) { program::CallT &c = makeAttention(t, true); c.attention->block_heads = 3; }},
    {"AttentionBlockRows", "blocks of 1 x 2 x 33 rows x 32 keys of", [](ProgramT &t) { program::CallT &c = makeAttention(t, true); c.attention->block_rows = 33; }},
    {"AttentionBlockKeys", "blocks of 1 x 2 x 32 rows x 16 keys of", [](ProgramT &t) { program::CallT &c = makeAttention(t, true); c.attention->block_keys = 16; }},
    {"AttentionBlockWindow", "blocks of 1 x 2 x 16 rows x 16 keys of", [](ProgramT &t) { program::CallT &c = makeAttention(t, true); c.attention->window = 9; c.attention->block_rows = c.attention->block_keys = 16; }},
    {"AttentionLibrary", "a workspace of 4096 bytes, 4097 of them the library's", [](ProgramT &t) { program::CallT &c = makeAttention(t, true); c.attention->library_bytes = 4097; }},
    {"AttentionParts", "bytes, 4096 of them the library's", [](ProgramT &t) { program::CallT &c = makeAttention(t, true); c.attention->block_rows = 16; }},
    {"Kernel", "kernel '' over", [](ProgramT &t) { t.entries[0]->calls[1]->symbol.clear(); }},
    {"CallIndexType", "4 rows of 1 indices of type 0 in 4 pointers", [](ProgramT &t) { t.entries[1]->calls[1]->index_type = program::ElementType::F32; }},
    {"CallIndexExtent", "4 rows of 2 indices", [](ProgramT &t) { t.entries[1]->calls[1]->index_extents = {5, -1}; }},
    {"CallIndexRows", "9223372036854775807 rows", [](ProgramT &t) { t.entries[1]->calls[1]->index_rows = INT64_MAX; }},
    {"CallIndexRange", "its calls touch", [](ProgramT &t) { t.entries[1]->calls[1]->index_rows = 1 << 20; }},
    {"CallIndexPointer", "indices of type 4 in 1 pointers", [](ProgramT &t) { t.entries[1]->calls[1]->addresses.resize(1); }},
    {"LabelEntry", "label entry 44 of 4", [](ProgramT &t) { t.label_entry = 44; }},
    {"LabelArguments", "label entry: 2 arguments for 2 inputs and a count", [](ProgramT &t) { t.label_inputs = {1, 1}; }},
    {"LabelInput", "label entry: input 7 of 2", [](ProgramT &t) { t.label_inputs = {7}; }},
    {"LabelBytes", "label entry: argument 0 has", [](ProgramT &t) { t.entries[3]->calls[0]->kind = program::CallKind::Zero; t.entries[3]->calls[0]->addresses.pop_back(); t.entries[3]->calls[0]->bytes = 1 << 20; }},
    {"LabelCount", "the count has 4 bytes, its calls touch 8", [](ProgramT &t) { t.entries[3]->calls[0]->kind = program::CallKind::Zero; t.entries[3]->calls[0]->addresses = {program::Address(1, 0)}; t.entries[3]->calls[0]->bytes = 8; }},
    {"EntryArguments", "5000 arguments", [](ProgramT &t) { t.entries[0]->arguments = 5000; }},
    {"WeightFileUnused", "weight file 0 'other.bin': no parameter is in it", [](ProgramT &t) { addWeightFile(t, "other.bin", 1); }},
    {"WeightFileTwice", "weight file 1 'weights.bin': described twice", [](ProgramT &t) { addWeightFile(t, "weights.bin", kToyWeightsBytes); addWeightFile(t, "weights.bin", kToyWeightsBytes); }},
    {"WeightFileShort", "weight file 0 'weights.bin': parameters end at byte 558624 of 558623", [](ProgramT &t) { addWeightFile(t, "weights.bin", kToyWeightsBytes - 1); }},
    {"WeightFileOverflow", "parameters end at byte 18446744073709551615 of", [](ProgramT &t) { addWeightFile(t, "weights.bin", 1u << 30); t.parameters[1]->offset = ~0ull - 3; }},
    {"NoOps", "no operations", [](ProgramT &t) { t.ops.clear(); }},
    {"OpKind", "kind 50 on lane", [](ProgramT &t) { t.ops[0]->kind = (OpKind)50; }},
    {"OpLane", "does not run on lane Update", [](ProgramT &t) { t.ops[0]->lane = ProgramLane::Update; }},
    {"OpDevice", "on device 2 of 2", [](ProgramT &t) { find(t, OpKind::Launch).device = 2; }},
    {"HostOpDevice", "on device 0 of 2", [](ProgramT &t) { find(t, OpKind::Loss).device = 0; }},
    {"WaitOp", "waits for op 100000", [](ProgramT &t) { t.ops[0]->waits.push_back(program::Wait(100000, 1)); }},
    {"WaitForward", "which is issued no earlier", [](ProgramT &t) { t.ops[3]->waits.push_back(program::Wait(3, 0)); }},
    {"WaitDistance", "iterations ago", [](ProgramT &t) { t.ops[0]->waits.push_back(program::Wait(0, 1u << 31)); }},
    {"OperandEmpty", "0 buffers, access", [](ProgramT &t) { t.ops[0]->operands[0]->buffers.clear(); }},
    {"OperandAccess", "access 4", [](ProgramT &t) { t.ops[0]->operands[0]->access = 4; }},
    {"OperandBuffer", "operand 0: buffer 9999", [](ProgramT &t) { t.ops[0]->operands[0]->buffers = {9999}; }},
    {"OperandRange", "of a buffer of", [](ProgramT &t) { t.ops[0]->operands[0]->offset = ~0ull; }},
    {"OperandPlaces", "its buffers are in different places", [](ProgramT &t) { for (uint32_t i = 0; i < t.buffers.size(); ++i) if (t.buffers[i]->space == program::Space::Host) t.ops[0]->operands[0]->buffers.push_back(i); }},
    {"OperandSpace", "is in Pinned memory", [](ProgramT &t) { find(t, OpKind::Launch).operands[0]->buffers = find(t, OpKind::StageInput).operands[0]->buffers; }},
    {"OperandDevice", "operand 0 is on device 0, not 1", [](ProgramT &t) { find(t, OpKind::Launch).device = 1; }},
    {"OperandAlignment", "not at a multiple of 8", [](ProgramT &t) { auto &o = *find(t, OpKind::Accumulate).operands[0]; o.offset = 4; o.bytes -= 4; }},
    {"CopyOperands", "1 operands, not two", [](ProgramT &t) { find(t, OpKind::Upload).operands.pop_back(); }},
    {"CopyBytes", "bytes to", [](ProgramT &t) { find(t, OpKind::Upload).operands[0]->bytes -= 8; }},
    {"ZeroOperands", "0 operands, not one", [](ProgramT &t) { find(t, OpKind::Zero).operands.clear(); }},
    {"LaunchEntry", "entry 44 of 4", [](ProgramT &t) { find(t, OpKind::Launch).entry = 44; }},
    {"LaunchOperands", "4 operands for 5 arguments", [](ProgramT &t) { find(t, OpKind::Launch).operands.pop_back(); }},
    {"LaunchBytes", "its calls touch", [](ProgramT &t) { find(t, OpKind::Launch).operands[0]->bytes -= 8; }},
    {"CubinBlob", "cubin 0 'sm_90': bytes", [](ProgramT &t) {
       addDeviceCode(t);
       auto cubin = std::make_unique<program::CubinT>();
       cubin->arch = "sm_90";
       cubin->code = std::make_unique<program::BlobT>();
       cubin->code->offset = 4096, cubin->code->length = ~0ull;
       t.device_code[0]->cubins.push_back(std::move(cubin));
     }},
    {"GpuGrid", "a grid of 2 numbers and a block of 3", [](ProgramT &t) { addDeviceCode(t); t.entries[0]->calls[1]->grid.pop_back(); }},
    {"GpuGridSize", "a grid of 1 x 70000 x 1 blocks", [](ProgramT &t) { addDeviceCode(t); t.entries[0]->calls[1]->grid = {1, 70000, 1}; }},
    {"GpuBlock", "blocks of 64 x 32 x 1 threads, not 1 to 1024", [](ProgramT &t) { addDeviceCode(t); t.entries[0]->calls[1]->block = {64, 32, 1}; }},
    {"GpuBlockEmpty", "blocks of 64 x 0 x 1 threads, not 1 to 1024", [](ProgramT &t) { addDeviceCode(t); t.entries[0]->calls[1]->block = {64, 0, 1}; }},
    {"GpuShared", "bytes of shared memory", [](ProgramT &t) { addDeviceCode(t); t.entries[0]->calls[1]->shared_bytes = 1u << 30; }},
    {"StageInput", "input 5", [](ProgramT &t) { find(t, OpKind::StageInput).input = 5; }},
    {"StageMicroBatch", "micro-batch 9 of 4", [](ProgramT &t) { find(t, OpKind::StageInput).micro_batch = 9; }},
    {"StageBytes", "bytes of input", [](ProgramT &t) { find(t, OpKind::StageInput).operands[0]->bytes -= 8; }},
    {"SeedOperands", "3 operands, not 4: 4 micro-batches", [](ProgramT &t) { find(t, OpKind::Seed).operands.pop_back(); }},
    {"SeedBytes", "operand 0 has 2 bytes", [](ProgramT &t) { find(t, OpKind::Seed).operands[0]->bytes = 2; }},
    {"LossMissing", "0 Loss operations", [](ProgramT &t) {
       t.ops.resize(indexOf(t, OpKind::Loss));
       // Otherwise the waits for what is gone fill the report.
       for (auto &op : t.ops)
         std::erase_if(op->waits, [&](const program::Wait &wait) { return wait.op() >= t.ops.size(); });
     }},
    {"SeedTwice", "2 Seed", [](ProgramT &t) { auto op = std::make_unique<program::OpT>(); op->kind = OpKind::Seed; op->lane = ProgramLane::Staging; for (auto &o : find(t, OpKind::Seed).operands) { op->operands.push_back(std::make_unique<program::OperandT>()); op->operands.back()->buffers = o->buffers; op->operands.back()->bytes = 4; op->operands.back()->access = 2; } t.ops.push_back(std::move(op)); }},
    {"AccumulateBytes", "adds", [](ProgramT &t) { find(t, OpKind::Accumulate).operands[1]->bytes -= 4; }},
    {"UpdateOperands", "1 operands", [](ProgramT &t) { find(t, OpKind::Accumulate).operands.pop_back(); }},
    {"NormBytes", "bytes for 2 partial sums", [](ProgramT &t) { find(t, OpKind::Norm).operands[2]->bytes = 8; }},
    {"NormBlock", "is no block's gradient", [](ProgramT &t) { t.blocks[0]->gradients.clear(); }},
    {"NormGradient", "its block's gradient", [](ProgramT &t) { find(t, OpKind::Norm).operands[0]->bytes = 8; }},
    {"ClipPartials", "bytes of doubles", [](ProgramT &t) { find(t, OpKind::Clip).operands[0]->bytes = 12; }},
    {"ClipNorm", "without a norm to clip to", [](ProgramT &t) { t.optimizer->clip_norm = 0; }},
    {"LossScaleGrowth", "the loss scale grows after 0 steps", [](ProgramT &t) { t.optimizer->loss_scale = 8; t.optimizer->scale_growth = 0; }},
    {"LossScaleSeed", "4 operands, not 5", [](ProgramT &t) { t.optimizer->loss_scale = 8; }},
    {"LossScaleRoom", "no room for the loss scale", [](ProgramT &t) { t.optimizer->loss_scale = 8; find(t, OpKind::Clip).operands[0]->bytes = 0; }},
    {"GradientTransfer", "gradients travel as element type 2", [](ProgramT &t) { t.gradient_transfer = program::ElementType::F16; }},
    {"RoundBytes", "rounds 6 bytes of float32", [](ProgramT &t) { auto &op = find(t, OpKind::Zero); op.kind = OpKind::Round; op.operands[0]->bytes = 6; }},
    {"RoundLane", "a Round does not run on lane", [](ProgramT &t) { find(t, OpKind::Download).kind = OpKind::Round; }},
    {"OptimizerMissing", "has no optimizer", [](ProgramT &t) { t.optimizer.reset(); }},
    {"OptimizerBlock", "block 7 of 2", [](ProgramT &t) { find(t, OpKind::Optimizer).block = 7; }},
    {"OptimizerTwice", "is updated twice", [](ProgramT &t) { for (auto &op : t.ops) if (op->kind == OpKind::Optimizer) op->block = 1; }},
    {"OptimizerAbsent", "no Optimizer operation", [](ProgramT &t) { t.ops.pop_back(); }},
    {"OptimizerOperands", "operands, not 6 or 7", [](ProgramT &t) { find(t, OpKind::Optimizer).operands.pop_back(); }},
    {"OptimizerGradient", "a gradient of", [](ProgramT &t) { find(t, OpKind::Optimizer).operands[0]->bytes = 8; }},
    {"OptimizerSymbol", "has no kernel for this update", [](ProgramT &t) { t.optimizer->symbol.clear(); }},
    {"OptimizerMaster", "is not the block's master", [](ProgramT &t) { find(t, OpKind::Optimizer).operands[2]->buffers = find(t, OpKind::Optimizer).operands[0]->buffers; }},
    {"OptimizerMoments", "is not the block's moments", [](ProgramT &t) { find(t, OpKind::Optimizer).operands[4]->buffers = find(t, OpKind::Optimizer).operands[0]->buffers; }},
    {"OptimizerReach", "does not hold", [](ProgramT &t) { find(t, OpKind::Optimizer).operands[2]->bytes = 64; }},
    // The loss, made to wait for an update of its own step, would wait for ever: updates wait for the loss.
    {"LossAfterUpdate", "needs an update of its own step", [](ProgramT &t) {
       auto loss = std::move(t.ops[indexOf(t, OpKind::Loss)]);
       t.ops.erase(t.ops.begin() + indexOf(t, OpKind::Seed) + 1, t.ops.end() - 2);
       for (auto &op : t.ops) op->waits.clear();
       loss->waits = {program::Wait((uint32_t)t.ops.size() - 1, 0)};
       t.ops.push_back(std::move(loss));
     }},
};

} // namespace

static void expectNamed(const ToyOptions &options, const Case &param) {
  ProgramT table = toyProgram(options);
  param.damage(table);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Program::Pack(builder, &table));
  Status status =
      verifyProgram(*program::GetProgram(builder.GetBufferPointer()), 1 << 20);
  EXPECT_EQ(status.code(), Code::User);
  EXPECT_NE(status.message().find(param.message), std::string::npos)
      << status.message();
}

TEST_P(VerifyTest, IsNamed) {
  ToyOptions options;
  options.clipNorm = 1;
  expectNamed(options, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Damage, VerifyTest, ::testing::ValuesIn(kCases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

/// Behind the first UpdateScalars, for which it then perhaps waits.
static void moveLoss(ProgramT &table, bool waits) {
  uint32_t from = indexOf(table, OpKind::Loss),
           to = indexOf(table, OpKind::UpdateScalars);
  auto begin = table.ops.begin();
  std::rotate(begin + from, begin + from + 1, begin + to + 1);
  for (auto &op : table.ops)
    for (program::Wait &wait : op->waits) {
      uint32_t at = wait.op();
      if (at >= from && at <= to)
        wait = program::Wait(at == from ? to : at - 1, wait.distance());
    }
  if (waits)
    table.ops[to]->waits.emplace_back(to - 1, 0);
}

// clang-format off
static const Case kUpdateCases[] = {
    {"Lane", "a DeviceUpdate does not run on lane Compute", [](ProgramT &t) { find(t, OpKind::DeviceUpdate).lane = ProgramLane::Compute; }},
    {"ScalarsBlock", "block 7 of 2", [](ProgramT &t) { find(t, OpKind::UpdateScalars).block = 7; }},
    {"ScalarsOperands", "2 operands, not 3", [](ProgramT &t) { find(t, OpKind::UpdateScalars).operands.pop_back(); }},
    {"ScalarsBytes", "16 bytes for scalars of 32", [](ProgramT &t) { find(t, OpKind::UpdateScalars).operands[2]->bytes = 16; }},
    {"ScalarsGradient", "a gradient of 4 bytes, not", [](ProgramT &t) { find(t, OpKind::UpdateScalars).operands[0]->bytes = 4; }},
    {"ScalarsCoefficient", "no room for the gradient's coefficient", [](ProgramT &t) { find(t, OpKind::UpdateScalars).operands[1]->bytes = 2; }},
    {"ScalarsTwice", "is updated twice", [](ProgramT &t) { for (auto &op : t.ops) if (op->kind == OpKind::UpdateScalars) op->block = 1; }},
    {"NoScalars", "is updated on devices without scalars", [](ProgramT &t) { find(t, OpKind::UpdateScalars).kind = OpKind::Norm; }},
    {"Block", "block 9 of 2", [](ProgramT &t) { find(t, OpKind::DeviceUpdate).block = 9; }},
    {"Entry", "entry 99 of", [](ProgramT &t) { find(t, OpKind::DeviceUpdate).entry = 99; }},
    {"Operands", "operands, not 5 or 6", [](ProgramT &t) { auto &op = find(t, OpKind::DeviceUpdate); op.operands.pop_back(); auto &entry = *t.entries[(size_t)op.entry]; --entry.arguments; entry.calls.clear(); }},
    {"NotACopy", "is not a copy of its state", [](ProgramT &t) { t.ops[indexOf(t, OpKind::DeviceUpdate) - 4]->block = 0; }},
    {"OtherBuffer", "copies something else than its operand 1", [](ProgramT &t) { auto &op = find(t, OpKind::DeviceUpdate); t.ops[indexOf(t, OpKind::DeviceUpdate) - 4]->operands[1]->buffers = op.operands[2]->buffers; }},
    {"NotTheMaster", "it is not the block's master that is copied", [](ProgramT &t) { uint32_t at = indexOf(t, OpKind::DeviceUpdate); t.ops[at + 1]->operands[1]->buffers = t.ops[at + 2]->operands[1]->buffers; }},
    {"NotBack", "nothing brings 'val_1' back from its update", [](ProgramT &t) { uint32_t last = 0; for (uint32_t i = 0; i < t.ops.size(); ++i) if (t.ops[i]->kind == OpKind::DeviceUpdate) last = i; t.ops[last + 2]->operands[1]->offset = 256; t.ops[last + 2]->operands[0]->bytes -= 256; t.ops[last + 2]->operands[1]->bytes -= 256; t.ops[last]->operands[2]->bytes -= 256; t.ops[last - 3]->operands[0]->bytes -= 256; t.ops[last - 3]->operands[1]->bytes -= 256; }},
    {"LossAfterUpdate", "needs an update of its own step", [](ProgramT &t) { moveLoss(t, /*waits=*/true); }},
    {"LossAfterScalars", "is issued before the step's loss, which it waits for", [](ProgramT &t) { moveLoss(t, /*waits=*/false); }},
};
// clang-format on

class VerifyUpdateTest : public ::testing::TestWithParam<Case> {};

TEST_P(VerifyUpdateTest, IsNamed) {
  ToyOptions options;
  options.clipNorm = 1;
  options.deviceUpdates = true;
  expectNamed(options, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Damage, VerifyUpdateTest,
                         ::testing::ValuesIn(kUpdateCases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(Verify, TheWholeProgramIsSound) {
  for (bool weigh : {false, true})
    for (bool bf16 : {false, true})
      for (uint32_t staleness : {0u, 1u}) {
        ToyOptions options;
        options.devices = 3;
        options.weighByLabels = weigh;
        options.bf16 = bf16;
        options.staleness = staleness;
        options.deviceUpdates = weigh;
        ProgramT table = toyProgram(options);
        flatbuffers::FlatBufferBuilder builder;
        builder.Finish(program::Program::Pack(builder, &table));
        Status status = verifyProgram(
            *program::GetProgram(builder.GetBufferPointer()), 1 << 20);
        EXPECT_TRUE(status.ok()) << status.message();
      }
}

TEST(Verify, LossScalesNeedTheNorm) {
  ProgramT table = toyProgram({});
  table.optimizer->loss_scale = 8;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Program::Pack(builder, &table));
  Status status =
      verifyProgram(*program::GetProgram(builder.GetBufferPointer()), 1 << 20);
  EXPECT_NE(status.message().find("losses are scaled, but 1 Seed and 0 Clip "
                                  "operations do it"),
            std::string::npos)
      << status.message();
}

TEST(Verify, ABf16UploadNeedsItsWriter) {
  ToyOptions options;
  options.bf16 = true;
  ProgramT table = toyProgram(options);
  for (auto &op : table.ops)
    if (op->kind == OpKind::Optimizer)
      op->operands.pop_back();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Program::Pack(builder, &table));
  Status status =
      verifyProgram(*program::GetProgram(builder.GetBufferPointer()), 1 << 20);
  EXPECT_NE(
      status.message().find("is uploaded as bfloat16, which nothing writes"),
      std::string::npos)
      << status.message();
}

// All problems of a table are reported together.
TEST(Verify, ReportsManyProblemsAtOnce) {
  ProgramT table = toyProgram({});
  for (auto &op : table.ops)
    for (auto &operand : op->operands)
      operand->access = 0;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(program::Program::Pack(builder, &table));
  Status status =
      verifyProgram(*program::GetProgram(builder.GetBufferPointer()), 1 << 20);
  EXPECT_NE(status.message().find("more"), std::string::npos)
      << status.message();
}
