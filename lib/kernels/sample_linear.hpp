/// SampleLinear: the three products of a linear layer on a device, for timing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "kernels/linear.hpp"

namespace ziggurat::kernels {

/// Product of a linear layer.
enum class LinearProduct { forward, backward_input, backward_weight };

constexpr const char* to_string(LinearProduct product) {
    switch (product) {
        case LinearProduct::forward:
            return "forward";
        case LinearProduct::backward_input:
            return "backward_input";
        case LinearProduct::backward_weight:
            return "backward_weight";
    }
    throw std::invalid_argument{"no LinearProduct"};
}

/// Runs the products of one layer on sample elements in device memory, with the kernels of training.
///
/// Each call uses the next of several sets of operands. Together they exceed the caches, as the weights and
/// activations of a model do.
///
/// T: float, bfloat16.
template <class T>
class SampleLinear {
  public:
    /// \param pool_bytes  minimum size of all sets of operands, at least one set
    /// Errors: Error{resource} if there is too little memory
    SampleLinear(device::Device& device, const LinearShape& shape, std::int64_t pool_bytes);

    /// Starts a product. Async: until finish()
    void start(LinearProduct product);
    void finish() const { stream_.finish(); }
    /// Returns the FLOP of each of the products.
    double flops() const noexcept;
    /// Returns the last element that the last `product` has written. \pre finish() after a start()
    float last(LinearProduct product);

  private:
    /// Offsets of one set of operands in the arena.
    struct Offsets {
        std::int64_t x, w, y, dx, dw, end;
    };
    static Offsets offsets_of(const LinearShape& shape) noexcept;
    std::byte* set() const noexcept { return arena_.data() + current_ * offsets_.end; }
    template <class E>
    float element(std::int64_t offset, std::int64_t count);

    LinearShape shape_;
    Offsets offsets_;
    std::int64_t num_sets_;
    std::int64_t current_ = 0;
    device::Stream stream_;
    Linear<T> linear_;
    device::Arena arena_;    ///< the sets, then the workspace
    device::Arena staging_;  ///< host memory: source of the operands, destination of last()
    std::shared_ptr<void> pinned_;
};

}  // namespace ziggurat::kernels
