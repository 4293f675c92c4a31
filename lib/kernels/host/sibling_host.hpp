/// Definition of host siblings; only *_host.cpp files include it.
#pragma once

#include "kernels/sibling.hpp"

namespace ziggurat::kernels::host {

/// Names the function that computes `kernel`.
template <auto kernel>
struct ComputedBy;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
void Sibling<kernel>::run(const device::Stream& stream,
                          typename ReachedParameter<Parameters>::Type... arguments) {
    ComputedBy<kernel>::function(stream, arguments...);
}

}  // namespace ziggurat::kernels::host

/// ZG_HOST_SIBLING(column_sum<float>); in kernels::host: the function of that name there computes the kernel
/// of that name. Its parameters are the kernel's, a tensor being a TensorRef, or with rank 1 a span, and one
/// object a pointer.
#define ZG_HOST_SIBLING(...)                                           \
    template <>                                                        \
    struct ComputedBy<&kernels::__VA_ARGS__> {                         \
        static constexpr auto* function = &kernels::host::__VA_ARGS__; \
    };                                                                 \
    template struct Sibling<&kernels::__VA_ARGS__>
