/// Sibling: the implementation of a kernel for one kind of processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "device/stream.hpp"
#include "kernels/step_inputs.hpp"
#include "kernels/tensor_address.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

/// A host object that a kernel uses. Its address is not translated. It must outlive the work.
template <class T>
struct Prepared {
    const T* object;
};

/// A tensor with an address that a sibling can access; converts to the sibling's parameter type.
template <class T, int rank>
struct Reached {
    T* first = nullptr;
    std::array<std::int64_t, static_cast<std::size_t>(rank)> extents{};

    operator tensor::TensorRef<T, rank>() const noexcept { return {first, extents}; }
    operator std::span<T>() const noexcept requires(rank == 1) {
        return {first, static_cast<std::size_t>(extents[0])};
    }
    operator T*() const noexcept requires(rank == 0) { return first; }
};

/// Type of a kernel's parameter in its siblings.
template <class P>
struct ReachedParameter {
    using Type = P;
};
template <class T, int rank>
struct ReachedParameter<TensorAddress<T, rank>> {
    using Type = Reached<T, rank>;
};
template <>
struct ReachedParameter<const Dropout&> {
    using Type = const ReadableDropout&;
};

namespace host {

/// The host's sibling of `kernel`, which ZG_HOST_SIBLING defines.
///
/// The kernel's declaration determines the parameters of its siblings.
template <auto kernel>
struct Sibling;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
struct Sibling<kernel> {
    static void run(const device::Stream& stream, typename ReachedParameter<Parameters>::Type... arguments);
};

}  // namespace host
namespace cuda {

/// A GPU's sibling of `kernel`, which ZG_CUDA_SIBLING defines. Its tensors have addresses of the GPU.
template <auto kernel>
struct Sibling;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
struct Sibling<kernel> {
    static void run(const device::Stream& stream, typename ReachedParameter<Parameters>::Type... arguments);
};

}  // namespace cuda
}  // namespace ziggurat::kernels
