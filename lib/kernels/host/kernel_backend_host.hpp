/// Definition of host backends; only *_host.cpp files include it.
#pragma once

#include "kernels/launch/kernel_backend.hpp"

namespace ziggurat::kernels::host {

/// Maps a kernel to the function that computes it.
template <auto kernel>
struct ComputedBy;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
void KernelBackend<kernel>::run(const device::Stream& stream,
                                typename DeviceArgumentOf<Parameters>::Type... arguments) {
    ComputedBy<kernel>::function(stream, arguments...);
}

}  // namespace ziggurat::kernels::host

/// ZG_REGISTER_HOST_KERNEL(column_sum<float>), used in kernels::host.
///
/// It declares that the function of that name there computes the kernel of that name. The function has the
/// kernel's parameters, except that a tensor is a TensorRef (a span if its rank is 1, a pointer if it is 0).
#define ZG_REGISTER_HOST_KERNEL(...)                                   \
    template <>                                                        \
    struct ComputedBy<&kernels::__VA_ARGS__> {                         \
        static constexpr auto* function = &kernels::host::__VA_ARGS__; \
    };                                                                 \
    template struct KernelBackend<&kernels::__VA_ARGS__>
