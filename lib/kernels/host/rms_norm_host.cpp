#include <cmath>

#include "kernels/host/column_sum_blocks_host.hpp"
#include "kernels/host/dropout_host.hpp"
#include "kernels/host/kernel_backend_host.hpp"
#include "kernels/host/rms_row_host.hpp"
#include "kernels/norm/rms_norm.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {
namespace {

using tensor::TensorRef;

/// Adds the gradient through the norm of one row to dx, or writes it there.
///
/// Adds the gradient of gain to its partial row.
template <class T>
void backward_row(const T* x,
                  const T* dy,
                  const T* gain,
                  float gain_offset,
                  float inv_rms,
                  T* dx,
                  Accumulate add_to_dx,
                  float* d_gain,
                  std::int64_t width) {
    const bool adds = add_to_dx == Accumulate::yes;
    const float projection = mean_projection(x, dy, gain, gain_offset, inv_rms, d_gain, width);
#pragma omp simd
    for (std::int64_t c = 0; c < width; ++c) {
        const float through =
            through_norm(float(x[c]), float(dy[c]), gain_offset + float(gain[c]), inv_rms, projection);
        tensor::store(dx[c], std::fma(inv_rms, through, adds ? float(dx[c]) : 0.0f));
    }
}

}  // namespace

template <class T>
void rms_norm_forward(const device::Stream&,
                      TensorRef<const T, 2> x,
                      TensorRef<const T, 1> gain,
                      float gain_offset,
                      float epsilon,
                      TensorRef<T, 2> y,
                      TensorRef<float, 1> inv_rms) {
    for_rows("ziggurat::rms_norm_forward", x.extent(0), [=](std::int64_t row) {
        inv_rms.data[row] =
            normalize_row(x.row(row), gain.data, gain_offset, epsilon, y.row(row), x.extent(1));
    });
}

template <class T>
void residual_rms_norm_forward(const device::Stream&,
                               TensorRef<const T, 2> x,
                               TensorRef<const T, 2> branch,
                               const DropoutView& dropout,
                               TensorRef<const T, 1> gain,
                               float gain_offset,
                               float epsilon,
                               TensorRef<T, 2> x_out,
                               TensorRef<T, 2> y,
                               TensorRef<float, 1> inv_rms) {
    const DropoutRows dropped{dropout};
    for_rows("ziggurat::residual_rms_norm_forward", x.extent(0), [=](std::int64_t row) {
        const auto width = x.extent(1);
        T* sum = x_out.row(row);
        add_branch_row(x.row(row), branch.row(row), dropped, row, sum, width);
        inv_rms.data[row] = normalize_row<T>(sum, gain.data, gain_offset, epsilon, y.row(row), width);
    });
}

template <class T>
void rms_norm_backward(const device::Stream&,
                       TensorRef<const T, 2> x,
                       TensorRef<const T, 2> dy,
                       TensorRef<const T, 1> gain,
                       float gain_offset,
                       TensorRef<const float, 1> inv_rms,
                       TensorRef<T, 2> dx,
                       Accumulate add_to_dx,
                       TensorRef<float, 1> d_gain,
                       Accumulate accumulate,
                       std::span<std::byte> workspace) {
    const ColumnSumBlocks blocks{x.extent(0), x.extent(1), workspace};
    blocks.for_each("ziggurat::rms_norm_backward",
                    [=](std::int64_t begin, std::int64_t end, float* gain_sums, float*) {
                        for (auto row = begin; row < end; ++row) {
                            backward_row(x.row(row), dy.row(row), gain.data, gain_offset, inv_rms.data[row],
                                         dx.row(row), add_to_dx, gain_sums, x.extent(1));
                        }
                    });
    if (!d_gain.empty()) {
        blocks.finish(0, d_gain, accumulate);
    }
}

ZG_REGISTER_HOST_KERNEL(rms_norm_forward<float>);
ZG_REGISTER_HOST_KERNEL(rms_norm_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(residual_rms_norm_forward<float>);
ZG_REGISTER_HOST_KERNEL(residual_rms_norm_forward<tensor::bfloat16>);
ZG_REGISTER_HOST_KERNEL(rms_norm_backward<float>);
ZG_REGISTER_HOST_KERNEL(rms_norm_backward<tensor::bfloat16>);

}  // namespace ziggurat::kernels::host
