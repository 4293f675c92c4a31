/// Graphs of cuDNN's frontend and the handle that runs them; only cudnn/*_cuda.cpp include it.
#pragma once

#include <cuda_runtime.h>
#include <cudnn.h>
#include <cudnn_frontend.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "device/stream.hpp"
#include "kernels/cuda/cudnn/cudnn_library_cuda.hpp"

namespace ziggurat::kernels::cuda {

namespace fe = cudnn_frontend;
using fe::graph::Graph;

/// Target of a graph: a present GPU, by its handle, or a described GPU.
struct Target {
    cudnnHandle_t handle = nullptr;
    std::shared_ptr<const fe::DeviceProperties> properties = {};
    int capability = 0;
};

/// cuDNN on the calling thread's GPU. \pre cudnn_library() can be used
///
/// Errors: Error{resource} if it cannot be started
class CudnnHandle {
  public:
    CudnnHandle();
    ~CudnnHandle();
    CudnnHandle(const CudnnHandle&) = delete;
    CudnnHandle& operator=(const CudnnHandle&) = delete;

    Target target() const { return {.handle = handle_, .capability = capability_}; }
    /// Returns the handle; what it runs next is put on `stream`.
    cudnnHandle_t on(const device::Stream& stream);

  private:
    cudnnHandle_t handle_ = nullptr;
    int capability_ = 0;
    bool has_stream_ = false;
    cudaStream_t stream_ = nullptr;
};

/// Writes the target of a described GPU. Returns an error message of cuDNN; empty on success.
///
/// Errors: Error{resource} without the library
std::string describe_target(const DescribedGpu& gpu, Target& target);

/// Throws Error{internal} for a launch that failed.
///
/// \param doing  the attempted action, used after "cannot"
void check_run(const fe::error_t& status, const char* doing);

/// Returns an empty graph of bfloat16 tensors that computes in float.
inline std::shared_ptr<Graph> make_graph(const Target& target) {
    auto graph = std::make_shared<Graph>();
    if (target.properties != nullptr) {
        graph->set_device_properties(target.properties);
    }
    // Must be set before nodes are added, because nodes copy it.
    graph->set_io_data_type(fe::DataType_t::BFLOAT16)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT)
        .set_sm_version(target.capability);
    return graph;
}

/// Makes the value `result` of a graph its output with the layout of `as`.
inline void put(const std::shared_ptr<fe::graph::Tensor_attributes>& result,
                const fe::graph::Tensor_attributes& as) {
    result->set_output(true).set_uid(as.get_uid()).set_dim(as.get_dim()).set_stride(as.get_stride());
}

/// Calls `ask` and returns the error message of cuDNN or its frontend; empty on success.
template <class Ask>
std::string refusal(const Ask& ask) {
    try {
        const fe::error_t status = ask();
        return status.is_bad() ? status.err_msg : "";
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// Chooses how to compute a graph.
///
/// \param modes      where cuDNN looks for engines, in this order
/// \param any_order  also engines whose sums have no fixed order
/// Returns an error message if no engine supports it; empty on success.
inline std::string choose(Graph& graph,
                          const Target& target,
                          const std::vector<fe::HeurMode_t>& modes,
                          bool any_order) {
    return refusal([&] {
        auto status = graph.validate();
        if (status.is_good()) {
            status = graph.build_operation_graph(target.handle);
        }
        if (status.is_good()) {
            status = graph.create_execution_plans(modes);
        }
        if (!any_order) {
            graph.deselect_numeric_notes({fe::NumericalNote_t::NONDETERMINISTIC});
        }
        return status.is_good() ? graph.check_support() : status;
    });
}

}  // namespace ziggurat::kernels::cuda
