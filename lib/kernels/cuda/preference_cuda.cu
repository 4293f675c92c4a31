#include "kernels/preference.hpp"

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/rows_cuda.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

/// Threads per block: four pairs.
constexpr int threads = 128;

/// Returns the sum of the losses of rows [begin, end) in lane 0. All lanes of a warp call it.
__device__ double warp_loss_of_answer(const float* losses,
                                      const layout::GatheredRows& rows,
                                      std::int32_t begin,
                                      std::int32_t end) {
    double sum = 0;
    for (auto row = begin + static_cast<std::int32_t>(threadIdx.x % warp_size); row < end; row += warp_size) {
        sum += losses[rows.index(row)];
    }
    for (int half = warp_size / 2; half > 0; half /= 2) {
        sum += __shfl_down_sync(~0U, sum, half);
    }
    return sum;
}

__global__ void __launch_bounds__(threads)
    clear_results(std::int64_t own_rows, std::int64_t count, float* weights, PairResult* results) {
    const auto at = thread_of_grid();
    if (at < own_rows) {
        weights[at] = 0;
    }
    if (at < count) {
        results[at] = {};
    }
}

/// One warp for each pair.
__global__ void __launch_bounds__(threads) weigh_pairs(const float* losses,
                                                       layout::GatheredRows rows,
                                                       std::int64_t own_rows,
                                                       const AnswerRows* pairs,
                                                       std::int64_t count,
                                                       const AnswerSums* references,
                                                       PreferenceLoss rule,
                                                       float* weights,
                                                       PairResult* results) {
    const auto pair = thread_of_grid() / warp_size;
    if (pair >= count || pairs[pair].chosen < 0) {
        return;
    }
    const AnswerRows of = pairs[pair];
    const AnswerLoss chosen{warp_loss_of_answer(losses, rows, of.chosen, of.rejected), of.chosen_tokens};
    const AnswerLoss rejected{warp_loss_of_answer(losses, rows, of.rejected, of.end), of.rejected_tokens};
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    PairGradient gradient{};
    if (lane == 0) {
        gradient = preference_of(rule, chosen, rejected, references[pair]);
        results[pair] = gradient.result;
    }
    const float chosen_weight = __shfl_sync(~0U, gradient.chosen_weight, 0);
    const float rejected_weight = __shfl_sync(~0U, gradient.rejected_weight, 0);
    for (auto row = of.chosen + lane; row < of.end; row += warp_size) {
        const auto local = rows.local(rows.index(row));
        if (local >= 0 && local < own_rows) {
            weights[local] = row < of.rejected ? chosen_weight : rejected_weight;
        }
    }
}

}  // namespace

void preference_weights(const device::Stream& stream,
                        TensorRef<const float, 1> losses,
                        const layout::GatheredRows& rows,
                        std::span<const AnswerRows> pairs,
                        std::span<const AnswerSums> references,
                        const PreferenceLoss& rule,
                        TensorRef<float, 1> weights,
                        std::span<PairResult> results) {
    const auto own_rows = weights.extent(0);
    const auto count = static_cast<std::int64_t>(pairs.size());
    launch_grid(stream, "preference_weights", a_thread_each(own_rows > count ? own_rows : count, threads),
                clear_results, own_rows, count, weights.data, results.data());
    launch_grid(stream, "preference_weights", a_thread_each(count * warp_size, threads), weigh_pairs,
                losses.data, rows, own_rows, pairs.data(), count, references.data(), rule, weights.data,
                results.data());
}

ZG_REGISTER_CUDA_KERNEL(preference_weights);

}  // namespace ziggurat::kernels::cuda
