/// SampleProduct: a matrix product on a device, to be timed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"
#include "kernels/linear.hpp"

namespace ziggurat::kernels {

/// Element `index` of x and of w, row by row: multiples of 1/128 in [-1, 1) without a pattern, for a GPU
/// multiplies equal numbers faster than those of a training.
float sample_element(std::int64_t index) noexcept;

/// y = x w^T of sample elements, in memory of the device that computes, by the kernels that train with it. T:
/// float, bfloat16.
template <class T>
class SampleProduct {
  public:
    /// \param rows   of x and y
    /// \param width  of x, w and y
    /// Errors: Error{resource} when memory is short
    SampleProduct(device::Device& device, std::int64_t rows, std::int64_t width);

    /// Returns when the device has done it.
    void run() const;
    double flops() const noexcept;
    /// The last element of y. \pre it has run
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
