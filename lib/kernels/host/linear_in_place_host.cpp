#include <algorithm>

#include "base/contract.hpp"
#include "kernels/host/rows_host.hpp"
#include "kernels/host_vector.hpp"
#include "kernels/linear_products.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using V = tile::HostVector::Single;

constexpr int outputs_at_once = 4;
constexpr int rows_at_once = 4;

/// Computes y[r][o] = x[r] . w[o] for R rows of x and `outputs_at_once` rows of w.
template <int R, class T>
void multiply(const T* x, std::int64_t in, const T* w, float (&y)[R][outputs_at_once]) {
    typename V::Float sums[R][outputs_at_once];
    for (int r = 0; r < R; ++r) {
        for (int o = 0; o < outputs_at_once; ++o) {
            sums[r][o] = V::zero();
        }
    }
    const auto add = [&](std::int64_t i, int count) {
        typename V::Float left[R];
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
            left[r] = V::load_elements(x + r * in + i, count);
        }
#pragma GCC unroll 4
        for (int o = 0; o < outputs_at_once; ++o) {
            const auto right = V::load_elements(w + o * in + i, count);
#pragma GCC unroll 4
            for (int r = 0; r < R; ++r) {
                sums[r][o] = V::fma(left[r], right, sums[r][o]);
            }
        }
    };
    std::int64_t i = 0;
    for (; i + V::lanes <= in; i += V::lanes) {
        add(i, V::lanes);
    }
    if (i < in) {
        add(i, static_cast<int>(in - i));
    }
    for (int r = 0; r < R; ++r) {
        for (int o = 0; o < outputs_at_once; ++o) {
            y[r][o] = V::sum(sums[r][o]);
        }
    }
}

/// Products of few rows, which read the weight once, in place.
template <class T>
class InPlaceProducts final : public HostProducts<T> {
  public:
    explicit InPlaceProducts(const LinearShape& shape) : shape_{shape} {
        ZG_EXPECTS(shape.rows <= layout::HostWorkspaces::max_rows_in_place && !shape.is_tile);
    }

    std::int64_t packed_bytes(Packing) const noexcept override { return 0; }
    std::int64_t scratch_bytes() const noexcept override { return 0; }
    std::int64_t weight_scratch_bytes() const noexcept override { return 0; }

    void forward(const T* x, const std::byte* weight, const T* bias, T* y, std::byte*) const override {
        const auto* w = reinterpret_cast<const T*>(weight);
        const auto blocks = (shape_.out + outputs_at_once - 1) / outputs_at_once;
        for_rows("ziggurat::linear_in_place", blocks, [=, this](std::int64_t block) {
            // The last block begins earlier, so that it is whole too.
            const auto first =
                std::max<std::int64_t>(0, std::min(block * outputs_at_once, shape_.out - outputs_at_once));
            for (std::int64_t row = 0; row < shape_.rows; row += rows_at_once) {
                write_rows(std::min<std::int64_t>(rows_at_once, shape_.rows - row), x + row * shape_.in, w,
                           bias, first, y + row * shape_.out);
            }
        });
    }

    void pack(Packing, const T*, std::byte*) const override { refuse(); }
    void backward_input(const T*, const std::byte*, T*, std::byte*) const override { refuse(); }
    void backward_input_sum(const T*, const std::byte*, float*, Accumulate, std::byte*) const override {
        refuse();
    }
    void backward_weight(const T*, const T*, float*, Accumulate, std::byte*) const override { refuse(); }

  private:
    static void refuse() { ZG_EXPECTS(!"only forward reads weights in place"); }

    void write_rows(
        std::int64_t rows, const T* x, const T* w, const T* bias, std::int64_t first, T* y) const {
        switch (rows) {
            case 1:
                return write<1>(x, w, bias, first, y);
            case 2:
                return write<2>(x, w, bias, first, y);
            case 3:
                return write<3>(x, w, bias, first, y);
            default:
                return write<rows_at_once>(x, w, bias, first, y);
        }
    }

    template <int R>
    void write(const T* x, const T* w, const T* bias, std::int64_t first, T* y) const {
        float sums[R][outputs_at_once];
        if (shape_.out >= outputs_at_once) {
            multiply<R>(x, shape_.in, w + first * shape_.in, sums);
        } else {
            few_outputs<R>(x, w, sums);
        }
        const auto count = std::min<std::int64_t>(outputs_at_once, shape_.out);
        for (int r = 0; r < R; ++r) {
            for (std::int64_t o = 0; o < count; ++o) {
                const float b = bias == nullptr ? 0.0f : static_cast<float>(bias[first + o]);
                y[r * shape_.out + first + o] = T(sums[r][o] + b);
            }
        }
    }

    template <int R>
    void few_outputs(const T* x, const T* w, float (&sums)[R][outputs_at_once]) const {
        for (int r = 0; r < R; ++r) {
            for (std::int64_t o = 0; o < shape_.out; ++o) {
                float sum = 0;
                for (std::int64_t i = 0; i < shape_.in; ++i) {
                    sum +=
                        static_cast<float>(x[r * shape_.in + i]) * static_cast<float>(w[o * shape_.in + i]);
                }
                sums[r][o] = sum;
            }
        }
    }

    LinearShape shape_;
};

}  // namespace

template <class T>
std::unique_ptr<HostProducts<T>> make_in_place_products(const LinearShape& shape) {
    return std::make_unique<InPlaceProducts<T>>(shape);
}

template std::unique_ptr<HostProducts<float>> make_in_place_products<float>(const LinearShape&);
template std::unique_ptr<HostProducts<tensor::bfloat16>> make_in_place_products<tensor::bfloat16>(
    const LinearShape&);

}  // namespace ziggurat::kernels::host
