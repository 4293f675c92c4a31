#include "kernels/norm/head_norm.hpp"

#include <algorithm>

#include "kernels/host/column_sum_blocks_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rms_row_host.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

/// Replaces the gradient of a normalized head by that of its input.
template <class T>
void backward_head(
    const T* x, const T* gain, float gain_offset, float epsilon, T* dx, float* d_gain, std::int64_t width) {
    const float inv_rms = inverse_rms(x, epsilon, width);
    const float projection = mean_projection<T>(x, dx, gain, gain_offset, inv_rms, d_gain, width);
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        const float through =
            through_norm(float(x[c]), float(dx[c]), gain_offset + float(gain[c]), inv_rms, projection);
        tensor::store(dx[c], inv_rms * through);
    }
}

}  // namespace

template <class T>
void head_norm_forward(const device::Stream&,
                       const QkvHeads& shape,
                       TensorRef<const T, 2> x,
                       TensorRef<const T, 1> gain,
                       float gain_offset,
                       float epsilon,
                       TensorRef<T, 2> y) {
    const auto width = shape.head_dim;
    const auto normalized = shape.heads + shape.kv_heads;
    for_rows("ziggurat::head_norm_forward", x.extent(0), [=](std::int64_t row) {
        for (std::int64_t head = 0; head < normalized; ++head) {
            const T* own_gain = gain.data + (head < shape.heads ? 0 : width);
            normalize_row(x.row(row) + head * width, own_gain, gain_offset, epsilon,
                          y.row(row) + head * width, width);
        }
        std::copy_n(x.row(row) + normalized * width, shape.kv_heads * width, y.row(row) + normalized * width);
    });
}

template <class T>
void head_norm_backward(const device::Stream&,
                        const QkvHeads& shape,
                        TensorRef<const T, 2> x,
                        TensorRef<const T, 1> gain,
                        float gain_offset,
                        float epsilon,
                        TensorRef<T, 2> dx,
                        TensorRef<float, 1> d_gain,
                        Accumulate accumulate,
                        std::span<std::byte> workspace) {
    const auto width = shape.head_dim;
    const ColumnSumBlocks blocks{x.extent(0), width, workspace};
    blocks.for_each("ziggurat::head_norm_backward", [=](std::int64_t begin, std::int64_t end,
                                                        float* of_queries, float* of_keys) {
        for (auto row = begin; row < end; ++row) {
            for (std::int64_t head = 0; head < shape.heads + shape.kv_heads; ++head) {
                const bool is_query = head < shape.heads;
                backward_head<T>(x.row(row) + head * width, gain.data + (is_query ? 0 : width), gain_offset,
                                 epsilon, dx.row(row) + head * width, is_query ? of_queries : of_keys, width);
            }
        }
    });
    if (!d_gain.empty()) {
        blocks.finish(0, {d_gain.data, {width}}, accumulate);
        blocks.finish(1, {d_gain.data + width, {width}}, accumulate);
    }
}

ZG_REGISTER_HOST_KERNEL(head_norm_forward<float>);
ZG_REGISTER_HOST_KERNEL(head_norm_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(head_norm_backward<float>);
ZG_REGISTER_HOST_KERNEL(head_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
