/// Rate of plain oneDNN matrix products, the baseline of kernels.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace ziggurat::perf {

template <class Work>
double seconds_of(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Minimum of the added times: disturbances only make a measurement longer.
class Best {
  public:
    void add(double seconds) { seconds_ = std::min(seconds_, seconds); }
    double seconds() const { return seconds_; }

  private:
    double seconds_ = 1e30;
};

/// Returns values in [-1, 1) that repeat after 2^16 and are cheap to generate.
template <class T>
std::vector<T> some_values(std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    std::uint32_t state = 1;
    for (auto& value : values) {
        state = state * 1664525u + 1013904223u;
        value = T(static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
    }
    return values;
}

/// The three products of a linear layer without any packing, weights stored [out, in].
template <class T>
class PlainLinear {
  public:
    PlainLinear(std::int64_t rows, std::int64_t in, std::int64_t out)
        : x_{some_values<T>(rows * in)},
          w_{some_values<T>(out * in)},
          y_{some_values<T>(rows * out)},
          dw_(static_cast<std::size_t>(out * in)),
          flops_{2.0 * double(rows) * double(in) * double(out)} {
        using Dims = dnnl::memory::dims;
        constexpr auto type = sizeof(T) == 2 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
        const auto desc = [](std::int64_t m, std::int64_t n, dnnl::memory::data_type t, Dims strides) {
            return dnnl::memory::desc{{m, n}, t, strides};
        };
        const auto x = desc(rows, in, type, {in, 1});
        const auto y = desc(rows, out, type, {out, 1});
        add(x, x_.data(), desc(in, out, type, {1, in}), w_.data(), y, y_.data());
        add(y, y_.data(), desc(out, in, type, {in, 1}), w_.data(), x, x_.data());
        add(desc(out, rows, type, {1, out}), y_.data(), x, x_.data(),
            desc(out, in, dnnl::memory::data_type::f32, {in, 1}), dw_.data());
    }

    double flops() const { return flops_; }

    /// Runs forward (0), backward_input (1) or backward_weight (2).
    void run(int which) {
        auto& product = products_[static_cast<std::size_t>(which)];
        product.primitive.execute(stream_, product.arguments);
        stream_.wait();
    }

  private:
    struct Product {
        dnnl::matmul primitive;
        std::unordered_map<int, dnnl::memory> arguments;
    };

    void add(const dnnl::memory::desc& left,
             void* a,
             const dnnl::memory::desc& right,
             void* b,
             const dnnl::memory::desc& result,
             void* c) {
        const dnnl::matmul::primitive_desc description{{left, right, result}, engine_};
        products_.push_back({dnnl::matmul{description},
                             {{DNNL_ARG_SRC, {left, engine_, a}},
                              {DNNL_ARG_WEIGHTS, {right, engine_, b}},
                              {DNNL_ARG_DST, {result, engine_, c}}}});
    }

    std::vector<T> x_, w_, y_;
    std::vector<float> dw_;
    double flops_;
    dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream_{engine_};
    std::vector<Product> products_;
};

/// The products of one GPT-2 layer of width 768 on 4096 tokens, in sequence.
template <class T>
class PlainLayer {
  public:
    /// Runs the next product.
    void run() {
        auto& linear = linears_[next_ / 3];
        best_[next_].add(seconds_of([&] { linear.run(static_cast<int>(next_ % 3)); }));
        next_ = (next_ + 1) % best_.size();
    }

    /// Returns the rate at the best times of all products; every product must have run.
    double gflops() const {
        double flops = 0;
        double seconds = 0;
        for (std::size_t i = 0; i < best_.size(); ++i) {
            flops += linears_[i / 3].flops();
            seconds += best_[i].seconds();
        }
        return 1e-9 * flops / seconds;
    }

    std::size_t num_products() const { return best_.size(); }

  private:
    std::vector<PlainLinear<T>> linears_ = make();
    std::vector<Best> best_ = std::vector<Best>(12);
    std::size_t next_ = 0;

    static std::vector<PlainLinear<T>> make() {
        std::vector<PlainLinear<T>> linears;
        linears.reserve(4);
        linears.emplace_back(4096, 768, 2304);
        linears.emplace_back(4096, 768, 768);
        linears.emplace_back(4096, 768, 3072);
        linears.emplace_back(4096, 3072, 768);
        return linears;
    }
};

}  // namespace ziggurat::perf
