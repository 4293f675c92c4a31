#include "kernels/cuda/cudnn/cudnn_library_cuda.hpp"

#include <dlfcn.h>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "kernels/cuda/cudnn/cudnn_graph_cuda.hpp"

// The frontend calls the library through this handle, which the application must define.
void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace ziggurat::kernels::cuda {
namespace {

/// Oldest version with deterministic backward for grouped heads in the frontend.
constexpr std::size_t oldest_version = 90600;

AttentionLibrary open_library() {
    const auto file = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
    fe::cudnn_dlhandle = dlopen(file.c_str(), RTLD_NOW);
    if (fe::cudnn_dlhandle == nullptr) {
        return {.unusable_reason = file + " cannot be opened (" + dlerror() + ")"};
    }
    const auto version = fe::detail::get_backend_version();
    const auto name = "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
                      "." + std::to_string(version % 100);
    return {.name = name, .unusable_reason = version < oldest_version ? name + " is older than 9.6" : ""};
}

int attribute_of(cudaDeviceAttr attribute, int device) {
    int value = 0;
    device::cuda::check(cudaDeviceGetAttribute(&value, attribute, device), "query the properties of a GPU");
    return value;
}

}  // namespace

const AttentionLibrary& cudnn_library() {
    static const AttentionLibrary opened =
        open_library();  // once per process: the frontend's handle is global
    return opened;
}

CudnnHandle::CudnnHandle() {
    ZG_EXPECTS(cudnn_library().unusable_reason.empty());
    int device = 0;
    device::cuda::check(cudaGetDevice(&device), "find the current GPU");
    capability_ = 10 * attribute_of(cudaDevAttrComputeCapabilityMajor, device) +
                  attribute_of(cudaDevAttrComputeCapabilityMinor, device);
    const auto status = fe::detail::create_handle(&handle_);
    if (status != CUDNN_STATUS_SUCCESS) {
        throw Error{ErrorKind::resource,
                    std::string{"cannot start cuDNN ("} + fe::detail::get_error_string(status) + ")."};
    }
}

CudnnHandle::~CudnnHandle() {
    fe::detail::destroy_handle(handle_);
}

cudnnHandle_t CudnnHandle::on(const device::Stream& stream) {
    auto* const wanted = device::cuda::handle_of(stream);
    if (!has_stream_ || wanted != stream_) {
        const auto status = fe::detail::set_stream(handle_, wanted);
        ZG_EXPECTS(status == CUDNN_STATUS_SUCCESS);
        stream_ = wanted;
        has_stream_ = true;
    }
    return handle_;
}

std::string describe_target(const DescribedGpu& gpu, Target& target) {
    if (!cudnn_library().unusable_reason.empty()) {
        throw Error{ErrorKind::resource, cudnn_library().unusable_reason + "."};
    }
    auto properties = std::make_shared<fe::DeviceProperties>();
    const auto read = properties->deserialize({gpu.properties.begin(), gpu.properties.end()});
    target = {.properties = properties, .capability = gpu.capability};
    return read.is_bad() ? read.err_msg : "";
}

void check_run(const fe::error_t& status, const char* doing) {
    if (status.is_bad()) {
        // Throws the error of CUDA if there is one, because it is more precise.
        device::cuda::check(cudaGetLastError(), doing);
        throw Error{ErrorKind::internal,
                    std::string{"cannot "} + doing + " (cuDNN: " + status.err_msg + ")."};
    }
}

}  // namespace ziggurat::kernels::cuda
