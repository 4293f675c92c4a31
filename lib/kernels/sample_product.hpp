/// SampleProduct: a matrix product on a device, for timing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "kernels/linear.hpp"

namespace ziggurat::kernels {

/// Returns element `index` of x and of w, in row-major order: multiples of 1/128 in [-1, 1).
///
/// They have no pattern, because a GPU multiplies equal numbers faster than training data.
float sample_element(std::int64_t index) noexcept;

/// Computes y = x w^T of sample elements in the device's memory, with the kernels of training.
///
/// T: float, bfloat16.
template <class T>
class SampleProduct {
  public:
    /// \param rows   of x and y
    /// \param width  of x, w and y
    /// Errors: Error{resource} if there is too little memory
    SampleProduct(device::Device& device, std::int64_t rows, std::int64_t width);

    /// Runs the product and returns after the device has finished it.
    void run() const;
    double flops() const noexcept;
    /// Returns the last element of y. \pre run() has returned
    T last();

  private:
    enum Operand : std::size_t { x, w, y, workspace, num_operands };
    std::int64_t bytes(Operand operand) const noexcept;
    std::byte* at(Operand operand) const noexcept;

    std::int64_t rows_, width_;
    device::Stream stream_;
    Linear<T> linear_;
    device::Arena arena_;
    device::Arena staging_;  ///< host memory: source of the operands, destination of last()
    std::shared_ptr<void> pinned_;
};

}  // namespace ziggurat::kernels
