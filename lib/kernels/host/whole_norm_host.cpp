#include "kernels/norm/whole_norm.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/host/column_sum_blocks_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

/// The queries or the keys of a row.
struct Part {
    std::int64_t begin, width;
    std::int64_t elements;  ///< over all ranks, for the mean

    float inverse_rms(float sum, float epsilon) const {
        return 1.0f / std::sqrt(sum / float(elements) + epsilon);
    }
};

constexpr int num_parts = 2;

Part part_of(const QkvHeads& shape, int ranks, int part) {
    const auto queries = shape.heads * shape.head_dim;
    const auto width = part == 0 ? queries : shape.kv_heads * shape.head_dim;
    return {part == 0 ? 0 : queries, width, width * ranks};
}

template <class T>
float sum_of_squares(const T* x, std::int64_t width) {
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::int64_t c = 0; c < width; ++c) {
        squares = std::fma(float(x[c]), float(x[c]), squares);
    }
    return squares;
}

template <class T>
void add_scaled(const T* x, float factor, T* dx, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(dx[c], std::fma(float(x[c]), factor, float(dx[c])));
    }
}

template <class T>
void normalize(const T* x, const T* gain, float inv_rms, T* y, std::int64_t width) {
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        tensor::store(y[c], float(x[c]) * inv_rms * float(gain[c]));
    }
}

/// Replaces dy by dy * gain * inv_rms, and adds the gradient of gain to its partial row.
///
/// Returns the sum of dy * gain * n, where n is the normalized row.
template <class T>
float backward_part(const T* x, const T* gain, float inv_rms, T* dx, float* d_gain, std::int64_t width) {
    float projection = 0;
#pragma omp simd reduction(+ : projection)
    for (std::int64_t c = 0; c < width; ++c) {
        const float dy = float(dx[c]);
        const float normalized = float(x[c]) * inv_rms;
        const float scaled = dy * float(gain[c]);
        d_gain[c] = std::fma(dy, normalized, d_gain[c]);
        projection = std::fma(scaled, normalized, projection);
        tensor::store(dx[c], inv_rms * scaled);
    }
    return projection;
}

}  // namespace

template <class T>
void square_sums(const device::Stream&,
                 const QkvHeads& shape,
                 TensorRef<const T, 2> x,
                 TensorRef<float, 2> sums) {
    for_rows("ziggurat::square_sums", x.extent(0), [=](std::int64_t row) {
        for (int p = 0; p < num_parts; ++p) {
            const auto part = part_of(shape, 1, p);
            sums.row(row)[p] = sum_of_squares(x.row(row) + part.begin, part.width);
        }
    });
}

template <class T>
void square_sums_backward(const device::Stream&,
                          const QkvHeads& shape,
                          TensorRef<const T, 2> x,
                          TensorRef<const float, 2> d_sums,
                          TensorRef<T, 2> dx) {
    for_rows("ziggurat::square_sums_backward", x.extent(0), [=](std::int64_t row) {
        for (int p = 0; p < num_parts; ++p) {
            const auto part = part_of(shape, 1, p);
            add_scaled(x.row(row) + part.begin, 2 * d_sums.row(row)[p], dx.row(row) + part.begin, part.width);
        }
    });
}

template <class T>
void whole_norm_forward(const device::Stream&,
                        const QkvHeads& shape,
                        int ranks,
                        TensorRef<const T, 2> x,
                        TensorRef<const float, 2> sums,
                        TensorRef<const T, 1> gain,
                        float epsilon,
                        TensorRef<T, 2> y) {
    for_rows("ziggurat::whole_norm_forward", x.extent(0), [=](std::int64_t row) {
        std::int64_t end = 0;
        for (int p = 0; p < num_parts; ++p) {
            const auto part = part_of(shape, ranks, p);
            normalize(x.row(row) + part.begin, gain.data + part.begin,
                      part.inverse_rms(sums.row(row)[p], epsilon), y.row(row) + part.begin, part.width);
            end = part.begin + part.width;
        }
        std::copy_n(x.row(row) + end, shape.width() - end, y.row(row) + end);
    });
}

template <class T>
void whole_norm_backward(const device::Stream&,
                         const QkvHeads& shape,
                         int ranks,
                         TensorRef<const T, 2> x,
                         TensorRef<const float, 2> sums,
                         TensorRef<const T, 1> gain,
                         float epsilon,
                         TensorRef<T, 2> dx,
                         TensorRef<float, 2> d_sums,
                         TensorRef<float, 1> d_gain,
                         Accumulate accumulate,
                         std::span<std::byte> workspace) {
    const ColumnSumBlocks blocks{x.extent(0), gain.extent(0), workspace};
    blocks.for_each(
        "ziggurat::whole_norm_backward", [=](std::int64_t begin, std::int64_t end, float* gain_sums, float*) {
            for (auto row = begin; row < end; ++row) {
                for (int p = 0; p < num_parts; ++p) {
                    const auto part = part_of(shape, ranks, p);
                    const float inv_rms = part.inverse_rms(sums.row(row)[p], epsilon);
                    const float projection =
                        backward_part<T>(x.row(row) + part.begin, gain.data + part.begin, inv_rms,
                                         dx.row(row) + part.begin, gain_sums + part.begin, part.width);
                    if (!d_sums.empty()) {
                        d_sums.row(row)[p] = -0.5f * inv_rms * inv_rms / float(part.elements) * projection;
                    }
                }
            }
        });
    if (!d_gain.empty()) {
        blocks.finish(0, d_gain, accumulate);
    }
}

ZG_REGISTER_HOST_KERNEL(square_sums<float>);
ZG_REGISTER_HOST_KERNEL(square_sums<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(square_sums_backward<float>);
ZG_REGISTER_HOST_KERNEL(square_sums_backward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(whole_norm_forward<float>);
ZG_REGISTER_HOST_KERNEL(whole_norm_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(whole_norm_backward<float>);
ZG_REGISTER_HOST_KERNEL(whole_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
