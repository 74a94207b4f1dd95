//===- CudnnGraph.cpp - One attention problem in cuDNN --------------------===//
//
// Part of the Rondo project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudnnGraph.h"
#include <cstring>
#include <dlfcn.h>
#include <mutex>

// The frontend opens CUDA's runtime library to ask for the GPU's compute
// capability, and for a few copies. Rondo uses the driver alone: it is given
// stand-ins, and so works beside any version of that library, or none.
namespace rondo::runtime::cuda {
static void *openForFrontend(const char *name, int flags);
static void *findForFrontend(void *library, const char *name);
} // namespace rondo::runtime::cuda
#define dlopen rondo::runtime::cuda::openForFrontend
#define dlsym rondo::runtime::cuda::findForFrontend
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define NV_CUDNN_FRONTEND_DISABLE_LOGGING
#include <cudnn_frontend.h>
#undef dlopen
#undef dlsym

using namespace rondo::runtime;
using namespace rondo::runtime::cuda;
using rondo::program::ElementType;
using Matrix = AttentionShape::Matrix;
namespace graph = cudnn_frontend::graph;

/// The frontend's: where it looks for cuDNN's functions.
void *cudnn_frontend::cudnn_dlhandle = nullptr;

//===----------------------------------------------------------------------===//
// Stand-ins for CUDA's runtime library
//===----------------------------------------------------------------------===//

static const Driver *driver = nullptr;
/// Of the GPU that a graph is being built for.
static thread_local int capabilityMajor = 0, capabilityMinor = 0;

static cudaError_t getDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
static cudaError_t getDeviceProperties(cudaDeviceProp *properties, int) {
  std::memset(properties, 0, sizeof *properties);
  properties->major = capabilityMajor;
  properties->minor = capabilityMinor;
  return cudaSuccess;
}
static cudaError_t copyAsync(void *target, const void *source, size_t bytes,
                             cudaMemcpyKind, cudaStream_t stream) {
  return driver->memcpyAsync(reinterpret_cast<Address>(target),
                             reinterpret_cast<Address>(source), bytes,
                             reinterpret_cast<Stream>(stream)) == Success
             ? cudaSuccess
             : cudaErrorUnknown;
}
static cudaError_t setAsync(void *target, int value, size_t bytes,
                            cudaStream_t stream) {
  return driver->memsetAsync(reinterpret_cast<Address>(target),
                             (unsigned char)value, bytes,
                             reinterpret_cast<Stream>(stream)) == Success
             ? cudaSuccess
             : cudaErrorUnknown;
}
static const char *errorString(cudaError_t) { return "a CUDA call failed"; }

void *rondo::runtime::cuda::openForFrontend(const char *name, int flags) {
  if (std::strncmp(name, "libcudart", 9) != 0)
    return ::dlopen(name, flags);
  // It tries several versions, and wants exactly one of them.
  static std::string runtime = name;
  return runtime == name ? &runtime : nullptr;
}

void *rondo::runtime::cuda::findForFrontend(void *library, const char *name) {
  for (auto [known, function] :
       {std::pair("cudaGetDevice", reinterpret_cast<void *>(getDevice)),
        {"cudaGetDeviceProperties",
         reinterpret_cast<void *>(getDeviceProperties)},
        {"cudaMemcpyAsync", reinterpret_cast<void *>(copyAsync)},
        {"cudaMemsetAsync", reinterpret_cast<void *>(setAsync)},
        {"cudaGetErrorString", reinterpret_cast<void *>(errorString)}})
    if (std::strcmp(name, known) == 0)
      return function;
  // Others of its functions are not called; the frontend throws where they are.
  if (std::strncmp(name, "cuda", 4) == 0)
    return nullptr;
  return ::dlsym(library, name);
}

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

static Status openLibrary() {
  if (Status status = Driver::load(driver); !status.ok())
    return status;
  void *library = ::dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *error = ::dlerror();
    return deviceError(
        "cuDNN is missing: " + std::string(error ? error : "libcudnn.so.9") +
        "; install it (PyPI: nvidia-cudnn-cu13) and give "
        "LD_LIBRARY_PATH its folder");
  }
  for (const char *name :
       {"cudnnCreate", "cudnnGetVersion", "cudnnSetStream",
        "cudnnBackendCreateDescriptor", "cudnnBackendExecute"})
    if (!::dlsym(library, name))
      return deviceError("the cuDNN that was found lacks " + std::string(name) +
                         "; install version 9");
  cudnn_frontend::cudnn_dlhandle = library;
  return Status::success();
}

static Status loadLibrary() {
  static std::once_flag once;
  static Status status;
  std::call_once(once, [] { status = openLibrary(); });
  return status;
}

static std::string versionText() {
  size_t version = cudnn_frontend::detail::get_backend_version();
  return format("cuDNN %zu.%zu.%zu", version / 10000, version / 100 % 100,
                version % 100);
}

std::string Cudnn::describe() {
  Status status = loadLibrary();
  return status.ok() ? versionText() : status.message();
}

namespace {

class Library final : public Cudnn {
public:
  Library(const CudaPool::Member &gpu, cudnnHandle_t handle)
      : gpu(gpu), handle(handle) {}
  ~Library() override { (void)cudnn_frontend::detail::destroy_handle(handle); }
  std::string version() const override { return versionText(); }
  Status build(const CudnnProblem &problem,
               std::unique_ptr<CudnnGraph> &graph) override;

private:
  const CudaPool::Member &gpu;
  cudnnHandle_t handle;
};

/// Tensors' numbers in a graph: addresses' of a call, then the two lengths.
constexpr int64_t kRows = 9, kKeys = 10;

class Graph final : public CudnnGraph {
public:
  Graph(cudnnHandle_t handle, const CudnnProblem &problem)
      : handle(handle), problem(problem) {}
  Status build(int capability);
  uint64_t workspaceBytes() const override { return bytes; }
  bool needsLengths() const override { return hasLengths; }
  Status run(const CudnnTensors &tensors, Address rows, Address keys,
             Address workspace, Stream stream) override;

private:
  using Tensor = std::shared_ptr<graph::Tensor_attributes>;
  graph::Tensor_attributes describe(Matrix matrix) const;
  graph::Tensor_attributes describeLengths(int64_t number) const;
  template <typename Attributes>
  void describeMask(Attributes &attributes);
  void describeForward();
  void describeBackward();

  cudnnHandle_t handle;
  const CudnnProblem problem;
  graph::Graph frontend;
  bool hasLengths = false;
  uint64_t bytes = 0;
};

} // namespace

Status Cudnn::create(const CudaPool::Member &gpu,
                     std::unique_ptr<Cudnn> &cudnn) {
  Status status = loadLibrary();
  if (!status.ok())
    return Status(status.code(), status.message() + "; " + kWithoutCudnn);
  cudnnHandle_t handle = nullptr;
  if (cudnnStatus_t result = cudnn_frontend::detail::create_handle(&handle);
      result != CUDNN_STATUS_SUCCESS)
    return deviceError(versionText() + " does not start on " + gpu.name + ": " +
                       cudnn_frontend::detail::get_error_string(result) + "; " +
                       kWithoutCudnn);
  cudnn = std::make_unique<Library>(gpu, handle);
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

graph::Tensor_attributes Graph::describe(Matrix matrix) const {
  const AttentionSizes &sizes = problem.sizes;
  bool isOfKeys = matrix == Matrix::Key || matrix == Matrix::Value ||
                  matrix == Matrix::KeyGradient ||
                  matrix == Matrix::ValueGradient;
  bool isOfValue = matrix == Matrix::Value || matrix == Matrix::Result ||
                   matrix == Matrix::Cotangent ||
                   matrix == Matrix::ValueGradient;
  int64_t heads = isOfKeys ? sizes.keyHeads : sizes.heads,
          rows = isOfKeys ? sizes.keys : sizes.rows,
          columns = isOfValue ? sizes.valueDepth : sizes.depth;
  AttentionShape::Strides strides = problem.strides[matrix];
  // Of one batch or head any number serves; cuDNN looks at it all the same.
  if (heads == 1)
    strides.head = rows * strides.row;
  if (sizes.batch == 1)
    strides.batch = std::max(heads * strides.head, rows * strides.row);
  return graph::Tensor_attributes()
      .set_uid(attentionAddress(matrix))
      .set_dim({sizes.batch, heads, rows, columns})
      .set_stride({strides.batch, strides.head, strides.row, 1});
}

graph::Tensor_attributes Graph::describeLengths(int64_t number) const {
  return graph::Tensor_attributes()
      .set_uid(number)
      .set_dim({problem.sizes.batch, 1, 1, 1})
      .set_stride({1, 1, 1, 1})
      .set_data_type(cudnn_frontend::DataType_t::INT32);
}

template <typename Attributes>
void Graph::describeMask(Attributes &attributes) {
  attributes.set_attn_scale(problem.scale);
  // Rows and keys end together. Where they begin together, too, cuDNN skips
  // what is masked only if it is told so: its gradient is 1.6 times as fast.
  if (problem.causal)
    attributes
        .set_diagonal_alignment(
            problem.sizes.rows == problem.sizes.keys
                ? cudnn_frontend::DiagonalAlignment_t::TOP_LEFT
                : cudnn_frontend::DiagonalAlignment_t::BOTTOM_RIGHT)
        .set_diagonal_band_right_bound(0);
  if (problem.window)
    attributes.set_diagonal_band_left_bound(problem.window);
  if (hasLengths)
    attributes.set_padding_mask(true)
        .set_seq_len_q(frontend.tensor(describeLengths(kRows)))
        .set_seq_len_kv(frontend.tensor(describeLengths(kKeys)));
}

void Graph::describeForward() {
  auto attributes = graph::SDPA_attributes();
  attributes.set_name("attention").set_generate_stats(true);
  describeMask(attributes);
  auto [result, statistics] =
      frontend.sdpa(frontend.tensor(describe(Matrix::Query)),
                    frontend.tensor(describe(Matrix::Key)),
                    frontend.tensor(describe(Matrix::Value)), attributes);
  graph::Tensor_attributes wanted = describe(Matrix::Result);
  result->set_output(true)
      .set_uid(wanted.get_uid())
      .set_dim(wanted.get_dim())
      .set_stride(wanted.get_stride());
  statistics->set_output(true)
      .set_uid(kAttentionStatistics)
      .set_data_type(cudnn_frontend::DataType_t::FLOAT);
}

void Graph::describeBackward() {
  const AttentionSizes &sizes = problem.sizes;
  auto attributes = graph::SDPA_backward_attributes();
  attributes.set_name("attention_grad").set_deterministic_algorithm(true);
  describeMask(attributes);
  Tensor statistics = frontend.tensor(
      graph::Tensor_attributes()
          .set_uid(kAttentionStatistics)
          .set_dim({sizes.batch, sizes.heads, sizes.rows, 1})
          .set_stride({sizes.heads * sizes.rows, sizes.rows, 1, 1})
          .set_data_type(cudnn_frontend::DataType_t::FLOAT));
  std::array<Tensor, 3> gradients = frontend.sdpa_backward(
      frontend.tensor(describe(Matrix::Query)),
      frontend.tensor(describe(Matrix::Key)),
      frontend.tensor(describe(Matrix::Value)),
      frontend.tensor(describe(Matrix::Result)),
      frontend.tensor(describe(Matrix::Cotangent)), statistics, attributes);
  for (uint32_t i = 0; i < 3; ++i) {
    graph::Tensor_attributes wanted =
        describe((Matrix)(Matrix::QueryGradient + i));
    gradients[i]
        ->set_output(true)
        .set_uid(wanted.get_uid())
        .set_dim(wanted.get_dim())
        .set_stride(wanted.get_stride());
  }
}

Status Graph::build(int capability) {
  cudnn_frontend::DataType_t type = problem.type == ElementType::BF16
                                        ? cudnn_frontend::DataType_t::BFLOAT16
                                        : cudnn_frontend::DataType_t::HALF;
  frontend.set_io_data_type(type)
      .set_intermediate_data_type(cudnn_frontend::DataType_t::FLOAT)
      .set_compute_data_type(cudnn_frontend::DataType_t::FLOAT)
      .set_sm_version(capability);
  // Until version 9.15 gradients of other lengths need them; left alone, the
  // frontend would copy them from pageable memory at every run.
  hasLengths = problem.isGradient && problem.sizes.keys % 128 != 0;
  problem.isGradient ? describeBackward() : describeForward();
  cudnn_frontend::error_t error =
      frontend.build(handle, {cudnn_frontend::HeurMode_t::A});
  int64_t wanted = 0;
  if (error.is_good())
    error = frontend.get_workspace_size(wanted);
  if (error.is_bad())
    return deviceError(error.get_message());
  bytes = (uint64_t)wanted;
  return Status::success();
}

Status Graph::run(const CudnnTensors &tensors, Address rows, Address keys,
                  Address workspace, Stream stream) {
  // The frontend adds tensors of its own to the map, at this workspace.
  std::unordered_map<int64_t, void *> pointers;
  for (int64_t i = 0; i < (problem.isGradient ? 9 : 5); ++i)
    pointers[i] = reinterpret_cast<void *>(tensors[(size_t)i]);
  if (hasLengths) {
    pointers[kRows] = reinterpret_cast<void *>(rows);
    pointers[kKeys] = reinterpret_cast<void *>(keys);
  }
  if (cudnnStatus_t result = cudnn_frontend::detail::set_stream(
          handle, reinterpret_cast<cudaStream_t>(stream));
      result != CUDNN_STATUS_SUCCESS)
    return deviceError(std::string("cudnnSetStream: ") +
                       cudnn_frontend::detail::get_error_string(result));
  try {
    cudnn_frontend::error_t error =
        frontend.execute(handle, pointers, reinterpret_cast<void *>(workspace));
    return error.is_good() ? Status::success()
                           : deviceError(error.get_message());
  } catch (const std::exception &exception) {
    return deviceError(exception.what());
  }
}

Status Library::build(const CudnnProblem &problem,
                      std::unique_ptr<CudnnGraph> &graph) {
  capabilityMajor = gpu.major;
  capabilityMinor = gpu.minor;
  auto result = std::make_unique<Graph>(handle, problem);
  Status status;
  try {
    status = result->build(10 * gpu.major + gpu.minor);
  } catch (const std::exception &exception) {
    status = deviceError(exception.what());
  }
  if (status.ok())
    graph = std::move(result);
  return status;
}
