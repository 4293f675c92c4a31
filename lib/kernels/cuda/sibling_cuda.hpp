/// Definition of GPU siblings; only *_cuda.cu files include it.
#pragma once

#include "kernels/sibling.hpp"

namespace ziggurat::kernels::cuda {

/// Maps a kernel to the function that computes it.
template <auto kernel>
struct ComputedBy;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
void Sibling<kernel>::run(const device::Stream& stream,
                          typename ReachedParameter<Parameters>::Type... arguments) {
    ComputedBy<kernel>::function(stream, arguments...);
}

}  // namespace ziggurat::kernels::cuda

/// ZG_CUDA_SIBLING(column_sum<float>), used in kernels::cuda as ZG_HOST_SIBLING in kernels::host.
#define ZG_CUDA_SIBLING(...)                                           \
    template <>                                                        \
    struct ComputedBy<&kernels::__VA_ARGS__> {                         \
        static constexpr auto* function = &kernels::cuda::__VA_ARGS__; \
    };                                                                 \
    template struct Sibling<&kernels::__VA_ARGS__>
