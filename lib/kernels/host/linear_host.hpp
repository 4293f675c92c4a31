/// Host siblings of Linear's products; only linear.cpp and linear_host.cpp include it.
#pragma once

#include <memory>

#include "kernels/launch.hpp"
#include "kernels/linear_products.hpp"

namespace ziggurat::kernels::host {

/// The quickest products of T on this machine.
template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const LinearShape& shape, int num_threads);

// As in LinearProducts. Scratch is aligned to 64 bytes.
template <class T>
void pack_weight(const device::Stream& stream,
                 Prepared<LinearProducts<T>> products,
                 Packing packing,
                 tensor::TensorRef<const T, 2> w,
                 std::span<std::byte> packed);
template <class T>
void linear_forward(const device::Stream& stream,
                    Prepared<LinearProducts<T>> products,
                    tensor::TensorRef<const T, 2> x,
                    std::span<const std::byte> packed,
                    tensor::TensorRef<const T, 1> bias,
                    tensor::TensorRef<T, 2> y,
                    std::span<std::byte> scratch);
template <class T>
void linear_backward_input(const device::Stream& stream,
                           Prepared<LinearProducts<T>> products,
                           tensor::TensorRef<const T, 2> dy,
                           std::span<const std::byte> packed,
                           tensor::TensorRef<T, 2> dx,
                           std::span<std::byte> scratch);
template <class T>
void linear_backward_input_sum(const device::Stream& stream,
                               Prepared<LinearProducts<T>> products,
                               tensor::TensorRef<const T, 2> dy,
                               std::span<const std::byte> packed,
                               tensor::TensorRef<float, 2> dx,
                               Accumulate accumulate,
                               std::span<std::byte> scratch);
template <class T>
void linear_backward_weight(const device::Stream& stream,
                            Prepared<LinearProducts<T>> products,
                            tensor::TensorRef<const T, 2> x,
                            tensor::TensorRef<const T, 2> dy,
                            tensor::TensorRef<float, 2> dw,
                            Accumulate accumulate,
                            std::span<std::byte> scratch);

}  // namespace ziggurat::kernels::host
