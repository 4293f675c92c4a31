/// Launches of kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <tuple>
#include <utility>

#include "emulated_cuda/api.hpp"
#include "emulated_cuda/device.hpp"

enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
struct cudaFuncAttributes {};  // never read
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

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
cudaError_t load(const void* kernel);
/// \param thread  work of one thread of the grid
cudaError_t launch(const cudaLaunchConfig_t& config, const void* kernel, std::function<void()> thread);

}  // namespace emulated_cuda

/// Allows a kernel more dynamic shared memory than 48 KiB.
template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute, int value) {
    return emulated_cuda::set_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

/// Loads a kernel; the attributes stay empty.
template <class... Parameters>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, void (*kernel)(Parameters...)) {
    return emulated_cuda::load(reinterpret_cast<const void*>(kernel));
}

/// Converts arguments to the kernel's parameters at the call; each thread gets copies of them.
template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config,
                               void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
    auto thread = [kernel, parameters = std::tuple<Parameters...>{std::forward<Arguments>(arguments)...}] {
        std::apply(kernel, parameters);
    };
    return emulated_cuda::launch(*config, reinterpret_cast<const void*>(kernel), std::move(thread));
}
