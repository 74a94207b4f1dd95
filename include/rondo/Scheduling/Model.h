//===- Model.h - What the planner knows of a model and machine --*- C++ -*-===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plain C++: neither MLIR nor LLVM. Passes translate IR to these structures and
// back. Bytes are bytes, times are nanoseconds, of one micro-batch unless said
// otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef RONDO_SCHEDULING_MODEL_H
#define RONDO_SCHEDULING_MODEL_H

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::scheduling {

/// What is kept of a layer's forward for its backward.
enum class SaveSet : uint8_t { Input = 0, Products = 1, All = 2 };

/// Speeds of a machine; see docs/cost-model. All devices are alike.
struct Machine {
  std::string name;
  uint32_t devices = 1;
  uint64_t deviceBytes = 0; ///< Memory a program may use on each device.
  uint64_t hostBytes =
      0; ///< Memory for the pinned arena and the optimizer state.
  double productFlops = 0;    ///< Flop/s of contractions.
  double productFlopsF32 = 0; ///< Of those with operands in f32; 0: the same.
  double scalarFlops = 0;     ///< Operations/s of generated kernels.
  double deviceBandwidth = 0; ///< Bytes/s of device memory.
  double uploadBandwidth = 0; ///< Bytes/s host to device, each device.
  double downloadBandwidth = 0;
  double hostBandwidth = 0; ///< Bytes/s of host memory, for the optimizer.
  double launchLatency = 0; ///< ns, of one kernel.
  double copyLatency = 0;   ///< ns, of one transfer.
};

/// What an argument of an entry is. `index` of each, in brackets, is relative
/// to the layer, so that layers of one body have equal lists.
enum class Role : uint8_t {
  Boundary = 0,  ///< [entering value] Read.
  Saved = 1,     ///< [saved value of the entry's set] Read.
  Cotangent = 2, ///< [output = entering value of the next layer] Read.
  Side = 3, ///< [Layer::sides] Read: one micro-batch's rows of a model input.
  Parameter = 4,    ///< [Layer::parameters] Read.
  Seed = 5,         ///< [0] Read: f32, the gradient seed of the micro-batch.
  Output = 6,       ///< [output = entering value of the next layer] Written.
  Loss = 7,         ///< [0] Written: f32.
  SavedOut = 8,     ///< [saved value of the entry's set] Written.
  CotangentOut = 9, ///< [entering value] Written.
  Gradient = 10,    ///< [Layer::parameters] Read and written: f32, accumulated.
  Scratch = 11,     ///< [0] Written: last of all.
};

struct Argument {
  Role role = Role::Boundary;
  uint32_t index = 0;
  uint64_t bytes = 0;
};

/// One compiled entry of a body on the device: costs are exact sums over its
/// kernels.
struct EntryCost {
  bool present = false;
  std::string name; ///< Symbol in the body; empty: the customary one
                    ///< ("forward", "forward_all", "backward_all_nodx" ...).
  std::vector<Argument>
      arguments;   ///< All operands of the launch in order: arguments, results,
                   ///< scratch. Says what is read and written.
  double time = 0; ///< ns, predicted.
  double flops = 0;
  uint64_t bytes = 0;        ///< Device memory traffic.
  uint64_t scratchBytes = 0; ///< Workspace needed while it runs.
};

/// A block of parameters that travel together: those with one set of using
/// layers.
struct ParameterBlock {
  std::string name;
  uint64_t uploadBytes =
      0; ///< In upload precision, with padding of each member to 256 bytes.
  uint64_t gradientBytes = 0;   ///< f32, of the trainable members; 0: frozen.
  uint64_t elements = 0;        ///< Trainable elements.
  std::vector<uint32_t> layers; ///< Users, increasing.
};

/// A parameter as one layer sees it.
struct Parameter {
  uint32_t block = 0;  ///< ParameterBlock it lies in.
  uint64_t offset = 0; ///< In the block's upload copy; a multiple of 256.
  uint64_t bytes = 0;  ///< In upload precision.
  int64_t gradientOffset =
      -1; ///< In the block's gradient (and master and moments); -1: frozen.
  uint64_t gradientBytes = 0; ///< f32.
};

/// A value of a layer: its bytes as laid out on the device.
struct ValueBytes {
  std::string name;
  uint64_t bytes = 0;
};

/// One layer of the chain.
struct Layer {
  std::string name;
  uint32_t body = 0;    ///< Layers of equal structure share a body.
  std::string bodyName; ///< Its symbol; a launch's entry is "bodyName::entry".
  std::vector<Parameter> parameters; ///< In the body's order.
  std::vector<uint32_t> blocks;      ///< Parameter blocks it reads.
  std::vector<uint32_t>
      sides; ///< Model inputs that its entries read (embedding ids, labels), in
             ///< the body's order.
  std::vector<uint32_t>
      backwardSides; ///< Model inputs that its backward reads (for people: the
                     ///< entries' arguments decide).
  std::vector<uint64_t>
      boundaryBytes; ///< Each value entering from the layer before.
  std::vector<uint64_t>
      cotangentBytes; ///< Parallel to boundaryBytes, 0 for a value without
                      ///< cotangent; empty: no dx (nothing trainable before).
  std::vector<uint64_t>
      savedBytes[3]; ///< By SaveSet: each saved value ([Input] is empty: the
                     ///< boundary itself).
  bool backwardReadsBoundary[3] = {
      true, true, true}; ///< By SaveSet: backward reads the entering values
                         ///< (for people, as the next).
  bool backwardReadsParameters[3] = {true, true, true};
  EntryCost forward;        ///< y
  EntryCost forwardSave[3]; ///< y and the saved set.
  EntryCost rebuild[3];     ///< the saved set alone.
  EntryCost backward[3];
  EntryCost
      forwardBackward; ///< Loss layer only: loss, dx, gradients in one visit.
};

/// A model input: one micro-batch's rows.
struct Input {
  std::string name;
  uint64_t bytes = 0;
};

/// The chain and the shape of a step.
struct Model {
  std::string name;
  std::vector<Layer> layers; ///< The last one is the loss layer.
  std::vector<ParameterBlock> blocks;
  std::vector<Input> inputs;
  uint32_t microBatches = 1; ///< Per round.
  uint32_t rounds = 1;
  uint32_t staleness = 0; ///< 0 or 1.
  bool uploadIsMaster =
      false;         ///< f32 uploads: the masters are what is uploaded.
  bool clip = false; ///< The optimizer waits for the gradient's norm.
  bool roundGradients = false; ///< Gradients are downloaded as bf16.
  bool scaleLoss = false;      ///< Gradients are of the loss times a scale that
                               ///< overflows lower; `clip` is set too.
  bool countLabels = false; ///< Micro-batches weigh by valid labels: counted on
                            ///< the host before the step.
  std::string countEntry;   ///< "body::entry" of the label count.
  std::vector<uint32_t> countInputs; ///< Model inputs that it reads, in order.
  uint64_t countScratchBytes = 0;    ///< Workspace of the label count.
  uint32_t momentsPerElement =
      2; ///< f32 optimizer state per trainable element, besides the master.
  bool updateOnDevice = false; ///< State is streamed to devices to be updated.
  uint64_t updateBytes = 0;    ///< Of each device, for state on its way.
};

} // namespace rondo::scheduling

#endif // RONDO_SCHEDULING_MODEL_H
