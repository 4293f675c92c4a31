/// Launches of kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>

#include "emulated_cuda/api.hpp"
#include "emulated_cuda/device.hpp"

struct cudaLaunchAttribute;
struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    std::size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute* attrs;
    unsigned numAttrs;
};

namespace emulated_cuda {

/// \param thread  what one thread of the grid does
cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread);

}  // namespace emulated_cuda

/// Arguments become the kernel's parameters now; each thread gets copies of them.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                               void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
    auto thread = [kernel, parameters = std::tuple<Parameters...>{std::forward<Arguments>(arguments)...}] {
        std::apply(kernel, parameters);
    };
    return emulated_cuda::launch(*config, reinterpret_cast<const void*>(kernel), std::move(thread));
}
