/// Matrix products and reorders of oneDNN, prepared once and run on any addresses.
///
/// Only *_host.cpp files include it.
#pragma once

#include <omp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "kernels/launch/step_inputs.hpp"

namespace ziggurat::kernels::host::onednn {

using dnnl::memory;

/// Sets the number of threads, which oneDNN reads when it creates a primitive and when it runs one.
class ScopedThreads {
  public:
    explicit ScopedThreads(int num_threads) : before_{omp_get_max_threads()} {
        omp_set_num_threads(num_threads);
    }
    ~ScopedThreads() { omp_set_num_threads(before_); }
    ScopedThreads(const ScopedThreads&) = delete;
    ScopedThreads& operator=(const ScopedThreads&) = delete;

  private:
    int before_;
};

template <class T>
inline constexpr auto data_type = sizeof(T) == 2 ? memory::data_type::bf16 : memory::data_type::f32;

inline memory::desc row_major(std::int64_t rows, std::int64_t columns, memory::data_type type) {
    return {{rows, columns}, type, memory::dims{columns, 1}};
}

/// Returns the transpose, as a view, of a row-major [columns, rows].
inline memory::desc transposed(std::int64_t rows, std::int64_t columns, memory::data_type type) {
    return {{rows, columns}, type, memory::dims{1, rows}};
}

inline void check(dnnl_status_t status) {
    if (status != dnnl_success) {
        throw Error{ErrorKind::internal, "oneDNN failed to run a matrix product (status " +
                                             std::to_string(status) + "). Please report it with the deck."};
    }
}

/// A prepared matrix product result = left right (+ bias), stored or accumulated.
class Product {
  public:
    Product() = default;
    Product(const dnnl::engine& engine,
            const memory::desc& left,
            const memory::desc& right,
            const memory::desc* bias,
            const memory::desc& result,
            Accumulate accumulate) {
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        if (accumulate == Accumulate::yes) {
            dnnl::post_ops sum;
            sum.append_sum(1.0f);
            attributes.set_post_ops(sum);
        }
        const auto operation = bias != nullptr ? dnnl::matmul::desc{left, right, *bias, result}
                                               : dnnl::matmul::desc{left, right, result};
        const dnnl::matmul::primitive_desc description{operation, attributes, engine};
        const auto unbound = [&](const memory::desc& desc) { return memory{desc, engine, nullptr}; };
        primitive_ = dnnl::matmul{description};
        left_ = unbound(description.src_desc());
        right_ = unbound(description.weights_desc());
        result_ = unbound(description.dst_desc());
        if (bias != nullptr) {
            bias_ = unbound(*bias);
        }
        scratchpad_bytes_ = static_cast<std::int64_t>(description.scratchpad_desc().get_size());
        scratchpad_ = unbound(description.scratchpad_desc());
    }

    explicit operator bool() const { return static_cast<bool>(primitive_); }
    std::int64_t scratchpad_bytes() const { return scratchpad_bytes_; }
    memory::desc right() const { return right_.get_desc(); }

    void run(const dnnl::stream& stream,
             const void* left,
             const void* right,
             const void* bias,
             void* result,
             std::byte* scratchpad) const {
        bind(left_, left);
        bind(right_, right);
        bind(result_, result);
        bind(scratchpad_, scratchpad);
        std::array<dnnl_exec_arg_t, 5> arguments{{{DNNL_ARG_SRC, left_.get()},
                                                  {DNNL_ARG_WEIGHTS, right_.get()},
                                                  {DNNL_ARG_DST, result_.get()},
                                                  {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}}};
        int count = 4;
        if (bias != nullptr) {
            bind(bias_, bias);
            arguments[4] = {DNNL_ARG_BIAS, bias_.get()};
            count = 5;
        }
        check(dnnl_primitive_execute(primitive_.get(), stream.get(), count, arguments.data()));
    }

  private:
    /// Sets the address that a `memory` handle refers to.
    static void bind(const memory& bound, const void* address) {
        check(dnnl_memory_set_data_handle(bound.get(), const_cast<void*>(address)));
    }

    dnnl::matmul primitive_;
    memory left_, right_, bias_, result_, scratchpad_;
    std::int64_t scratchpad_bytes_ = 0;
};

/// Converts a row-major operand to the blocked format that a product reads.
class Packer {
  public:
    Packer() = default;
    Packer(const dnnl::engine& engine, const memory::desc& plain, const memory::desc& packed)
        : plain_{plain, engine, nullptr}, packed_{packed, engine, nullptr} {
        dnnl::primitive_attr attributes;
        attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        const dnnl::reorder::primitive_desc description{engine, plain, engine, packed, attributes};
        ZG_ENSURES(description.scratchpad_desc().get_size() == 0);
        primitive_ = dnnl::reorder{description};
    }

    explicit operator bool() const { return static_cast<bool>(primitive_); }
    std::int64_t packed_bytes() const { return static_cast<std::int64_t>(packed_.get_desc().get_size()); }

    void run(const dnnl::stream& stream, const void* plain, void* packed) const {
        check(dnnl_memory_set_data_handle(plain_.get(), const_cast<void*>(plain)));
        check(dnnl_memory_set_data_handle(packed_.get(), packed));
        const std::array<dnnl_exec_arg_t, 2> arguments{
            {{DNNL_ARG_FROM, plain_.get()}, {DNNL_ARG_TO, packed_.get()}}};
        check(dnnl_primitive_execute(primitive_.get(), stream.get(), 2, arguments.data()));
    }

  private:
    dnnl::reorder primitive_;
    memory plain_, packed_;
};

}  // namespace ziggurat::kernels::host::onednn
