/// Kernel backend: the implementation of a kernel for one kind of processor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "device/stream.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels {

/// A host object that a kernel uses. Its address is not translated. It must outlive the work.
template <class T>
struct PreparedArgument {
    const T* object;
};

/// A tensor with an address that a backend can access; converts to the backend's parameter type.
template <class T, int rank>
struct DeviceArgument {
    T* first = nullptr;
    std::array<std::int64_t, static_cast<std::size_t>(rank)> extents{};

    operator tensor::TensorRef<T, rank>() const noexcept { return {first, extents}; }
    operator std::span<T>() const noexcept requires(rank == 1) {
        return {first, static_cast<std::size_t>(extents[0])};
    }
    operator T*() const noexcept requires(rank == 0) { return first; }
};

/// Type of a kernel's parameter in its backends.
template <class P>
struct DeviceArgumentOf {
    using Type = P;
};
template <class T, int rank>
struct DeviceArgumentOf<TensorAddress<T, rank>> {
    using Type = DeviceArgument<T, rank>;
};
template <>
struct DeviceArgumentOf<const Dropout&> {
    using Type = const DropoutView&;
};

namespace host {

/// The host's backend of `kernel`, which ZG_REGISTER_HOST_KERNEL defines.
///
/// The kernel's declaration determines the parameters of its backends.
template <auto kernel>
struct KernelBackend;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
struct KernelBackend<kernel> {
    static void run(const device::Stream& stream, typename DeviceArgumentOf<Parameters>::Type... arguments);
};

}  // namespace host
namespace cuda {

/// A GPU's backend of `kernel`, which ZG_REGISTER_CUDA_KERNEL defines.
///
/// Its tensors have addresses of the GPU.
template <auto kernel>
struct KernelBackend;

template <class... Parameters, void (*kernel)(const device::Stream&, Parameters...)>
struct KernelBackend<kernel> {
    static void run(const device::Stream& stream, typename DeviceArgumentOf<Parameters>::Type... arguments);
};

}  // namespace cuda
}  // namespace ziggurat::kernels
