/// Definition of GPU backends; only *_cuda.cu files include it.
#pragma once

#include "kernels/launch/kernel_backend.hpp"

namespace ziggurat::kernels::cuda {

/// Maps a kernel to the function that computes it.
template <auto kernel>
struct ComputedBy;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
void KernelBackend<kernel>::run(const device::Stream& stream,
                                typename DeviceArgumentOf<Parameters>::Type... arguments) {
    ComputedBy<kernel>::function(stream, arguments...);
}

}  // namespace ziggurat::kernels::cuda

/// ZG_REGISTER_CUDA_KERNEL(column_sum<float>), used in kernels::cuda as ZG_REGISTER_HOST_KERNEL in
/// kernels::host.
#define ZG_REGISTER_CUDA_KERNEL(...)                                   \
    template <>                                                        \
    struct ComputedBy<&kernels::__VA_ARGS__> {                         \
        static constexpr auto* function = &kernels::cuda::__VA_ARGS__; \
    };                                                                 \
    template struct KernelBackend<&kernels::__VA_ARGS__>
