/// A linear layer of a test, with data in the memory of the computing device.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "kernels/linear.hpp"
#include "kernels/product_tuner.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/host_workspaces.hpp"
#include "tests/support/kernel_data.hpp"
#include "tests/unit/kernels/guarded_tensor.hpp"

namespace ziggurat::test {

/// Returns the workspaces that the memory plan has for products of T.
template <class T>
std::unique_ptr<layout::Workspaces> planned_workspaces(int num_threads) {
    if (tests_on_cuda()) {
        return std::make_unique<layout::CudaWorkspaces>();
    }
    return std::make_unique<layout::HostWorkspaces>(sizeof(T), num_threads);
}

/// Linear layer with a workspace of exactly the size in the memory plan.
template <class T>
struct LinearLayer {
    using Accumulate = kernels::Accumulate;

    kernels::LinearShape shape;
    std::shared_ptr<device::Device> device;
    device::Stream stream;
    std::vector<T> x, w, bias, dy;
    kernels::Linear<T> linear;
    std::int64_t workspace_bytes;

    /// \param known  measures the algorithms of products on a GPU, except these; nullopt: does not measure
    LinearLayer(const kernels::LinearShape& s,
                int num_threads,
                const std::optional<kernels::ProductChoices>& known = std::nullopt)
        : shape{s},
          device{device_of_tests(num_threads)},
          stream{measuring(device->make_stream(), known)},
          x{normal_values<T>(s.rows * s.in, 1)},
          w{normal_values<T>(s.out * s.in, 2)},
          bias{normal_values<T>(s.has_bias ? s.out : 0, 3)},
          dy{normal_values<T>(s.rows * s.out, 4)},
          linear{stream, s},
          workspace_bytes{planned_workspaces<T>(num_threads)->linear(s.rows, s.in, s.out)} {}

    static device::Stream measuring(device::Stream stream,
                                    const std::optional<kernels::ProductChoices>& known) {
        if (known) {
            kernels::product_tuner(stream)->measure(*known);
        }
        return stream;
    }

    template <class E>
    GuardedTensor<E> put(const std::vector<E>& values, std::int64_t shift = 0) const {
        return {*device, stream, values, shift};
    }
    /// Returns a workspace with an unaligned start: kernels must align it themselves.
    GuardedTensor<std::byte> workspace() const {
        return put(std::vector<std::byte>(static_cast<std::size_t>(workspace_bytes), std::byte{0xff}), 1);
    }

    /// \param shift  offset of x from an aligned address
    std::vector<T> forward(std::int64_t shift = 0) const {
        const auto in = put(x, shift), weight = put(w), added = put(bias);
        auto y = put(std::vector<T>(dy.size()));
        auto scratch = workspace();
        linear.forward(stream, in.matrix(shape.rows, shape.in), weight.matrix(shape.out, shape.in),
                       added.vector(), y.matrix(shape.rows, shape.out), scratch.vector());
        scratch.values();
        return y.values();
    }
    /// Adds dy to the product.
    std::vector<T> forward_added() const {
        const auto in = put(x), weight = put(w), added = put(bias);
        auto addend = put(dy), y = put(std::vector<T>(dy.size()));
        auto scratch = workspace();
        linear.forward_added(stream, in.matrix(shape.rows, shape.in), weight.matrix(shape.out, shape.in),
                             added.vector(), addend.matrix(shape.rows, shape.out),
                             y.matrix(shape.rows, shape.out), scratch.vector());
        scratch.values();
        EXPECT_TRUE(same_bits(addend.values(), dy));
        return y.values();
    }
    struct Activated {
        std::vector<T> before, after;
    };
    /// \pre shape.with_gelu
    Activated forward_gelu() const {
        const auto in = put(x), weight = put(w), added = put(bias);
        auto y = put(std::vector<T>(dy.size())), active = put(std::vector<T>(dy.size()));
        auto scratch = workspace();
        linear.forward_gelu(stream, in.matrix(shape.rows, shape.in), weight.matrix(shape.out, shape.in),
                            added.vector(), y.matrix(shape.rows, shape.out),
                            active.matrix(shape.rows, shape.out), scratch.vector());
        scratch.values();
        return {y.values(), active.values()};
    }
    /// Runs the backward pass with x as the input of GELU. \pre shape.with_gelu
    std::vector<T> backward_input_gelu() const {
        const auto in = put(dy), weight = put(w), before = put(x);
        auto dx = put(std::vector<T>(x.size()));
        auto scratch = workspace();
        linear.backward_input_gelu(stream, in.matrix(shape.rows, shape.out),
                                   weight.matrix(shape.out, shape.in), before.matrix(shape.rows, shape.in),
                                   dx.matrix(shape.rows, shape.in), scratch.vector());
        scratch.values();
        return dx.values();
    }
    std::vector<T> backward_input() const {
        const auto in = put(dy), weight = put(w);
        auto dx = put(std::vector<T>(x.size()));
        auto scratch = workspace();
        linear.backward_input(stream, in.matrix(shape.rows, shape.out), weight.matrix(shape.out, shape.in),
                              dx.matrix(shape.rows, shape.in), scratch.vector());
        scratch.values();
        return dx.values();
    }
    /// \pre the shape is that of a tile
    std::vector<float> backward_input_sum(Accumulate accumulate, float before) const {
        const auto in = put(dy), weight = put(w);
        auto dx = put(std::vector<float>(x.size(), before));
        auto scratch = workspace();
        linear.backward_input_sum(stream, in.matrix(shape.rows, shape.out),
                                  weight.matrix(shape.out, shape.in), dx.matrix(shape.rows, shape.in),
                                  accumulate, scratch.vector());
        scratch.values();
        return dx.values();
    }
    std::vector<float> backward_weight(Accumulate accumulate, float before) const {
        const auto in = put(x), gradient = put(dy);
        auto dw = put(std::vector<float>(w.size(), before));
        auto scratch = workspace();
        linear.backward_weight(stream, in.matrix(shape.rows, shape.in),
                               gradient.matrix(shape.rows, shape.out), dw.matrix(shape.out, shape.in),
                               accumulate, scratch.vector());
        scratch.values();
        return dw.values();
    }
};

}  // namespace ziggurat::test
