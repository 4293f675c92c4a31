#include "kernels/adamw.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/cuda/exact_sum_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/pack_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

template <class T, class G>
struct AdamWOperands {
    float* master;
    const G* gradient;
    float* m;
    float* v;
    T* parameters;  // null if the master weights are not published
};

template <class T, class G>
__device__ void update_pack(const AdamWFactors& factors, const AdamWOperands<T, G>& of, std::int64_t first) {
    float weight[pack], gradient[pack], m[pack], v[pack];
    load_pack(of.master + first, weight);
    load_pack(of.gradient + first, gradient);
    load_pack(of.m + first, m);
    load_pack(of.v + first, v);
#pragma unroll
    for (int i = 0; i < pack; ++i) {
        weight[i] = updated(factors, weight[i], gradient[i], m[i], v[i]);
    }
    store_pack(of.m + first, m);
    store_pack(of.v + first, v);
    store_pack(of.master + first, weight);
    if (of.parameters != nullptr) {
        store_pack(of.parameters + first, weight);
    }
}

template <class T, class G>
__device__ void update_one(const AdamWFactors& factors, const AdamWOperands<T, G>& of, std::int64_t i) {
    const float weight = updated(factors, of.master[i], float(of.gradient[i]), of.m[i], of.v[i]);
    of.master[i] = weight;
    if (of.parameters != nullptr) {
        tensor::store(of.parameters[i], weight);
    }
}

template <class T>
__device__ void publish(const float* master, T* parameters, std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) {
        tensor::store(parameters[i], master[i]);
    }
}

/// One thread for each `pack` elements; the last thread handles the rest.
///
/// \param has_sums  update_and_sum() follows, and does the work if norms are due
template <class T, class G>
__global__ void __launch_bounds__(256) update(AdamW adamw,
                                              float weight_decay,
                                              float lr_factor,
                                              const StepInputs* inputs,
                                              AdamWOperands<T, G> of,
                                              std::int64_t count,
                                              bool is_aligned,
                                              bool has_sums) {
    const auto begin = thread_of_grid() * pack;
    if (begin >= count || (has_sums && inputs->sums_norms != 0)) {
        return;
    }
    const auto end = begin + pack < count ? begin + pack : count;
    if (inputs->skip != 0) {
        // The memory that they are published from may be different in each step.
        if (of.parameters != nullptr) {
            publish(of.master, of.parameters, begin, end);
        }
        return;
    }
    const AdamWFactors factors{adamw, weight_decay, lr_factor, *inputs};
    if (is_aligned && end - begin == pack) {
        update_pack(factors, of, begin);
        return;
    }
    for (auto i = begin; i < end; ++i) {
        update_one(factors, of, i);
    }
}

constexpr int threads = 256;
constexpr int warps_of_block = threads / warp_size;
/// Elements whose squares are summed in double before they are added exactly.
constexpr int square_block = 256;
/// Enough blocks for every multiprocessor; more would only add sums to merge.
constexpr std::int64_t max_blocks = 264;

/// Updates elements and adds the squares of the new weights and of their changes, if norms are due.
///
/// Each warp takes every n-th block of 256 elements.
template <class T, class G>
__global__ void __launch_bounds__(threads, 4) update_and_sum(AdamW adamw,
                                                             float weight_decay,
                                                             float lr_factor,
                                                             const StepInputs* inputs,
                                                             AdamWOperands<T, G> of,
                                                             std::int64_t count,
                                                             ExactSum* weights,
                                                             ExactSum* changes) {
    if (inputs->sums_norms == 0) {
        return;
    }
    __shared__ SharedLimbs<warps_of_block> limbs_of_weights, limbs_of_changes;
    const bool skips = inputs->skip != 0;
    const AdamWFactors factors{adamw, weight_decay, lr_factor, *inputs};
    const int lane = static_cast<int>(threadIdx.x) % warp_size;
    const auto step = std::int64_t{gridDim.x} * warps_of_block * square_block;
    ExactSum of_weights, of_changes;
    for (auto begin = thread_of_grid() / warp_size * square_block; begin < count; begin += step) {
        double weight_squares = 0, change_squares = 0;
        for (int i = 0; i < square_block; i += warp_size) {
            const auto at = begin + i + lane;
            if (at >= count) {
                continue;  // an element of zero would not change the sums
            }
            const float before = of.master[at];
            if (!skips) {
                update_one(factors, of, at);
            } else if (of.parameters != nullptr) {
                publish(of.master, of.parameters, at, at + 1);
            }
            const double weight = of.master[at];
            const double change = of.master[at] - before;
            weight_squares = std::fma(weight, weight, weight_squares);
            change_squares = std::fma(change, change, change_squares);
        }
        weight_squares = folded(weight_squares);
        change_squares = folded(change_squares);
        if (lane == 0) {
            of_weights.add(weight_squares);
            of_changes.add(change_squares);
        }
    }
    if (lane == 0) {
        const int warp = static_cast<int>(threadIdx.x) / warp_size;
        store_limbs(of_weights, limbs_of_weights[warp]);
        store_limbs(of_changes, limbs_of_changes[warp]);
    }
    __syncthreads();
    add_limbs<warps_of_block>(limbs_of_weights, weights);
    add_limbs<warps_of_block>(limbs_of_changes, changes);
}

/// Propagates carries, so that the sums have the same representation for any order of additions.
__global__ void __launch_bounds__(warp_size) move_carries_on(ExactSum* weights, ExactSum* changes) {
    if (threadIdx.x < 2) {
        (threadIdx.x == 0 ? weights : changes)->merge(ExactSum{});
    }
}

/// One thread for each `pack` elements; the last thread handles the rest.
__global__ void __launch_bounds__(256) average_packs(
    const StepInputs* inputs, const float* weights, float* average, std::int64_t count, bool is_aligned) {
    const auto begin = thread_of_grid() * pack;
    if (begin >= count || inputs->skip != 0) {
        return;
    }
    const StepInputs factors = *inputs;
    const auto end = begin + pack < count ? begin + pack : count;
    if (is_aligned && end - begin == pack) {
        float weight[pack], mean[pack];
        load_pack(weights + begin, weight);
        load_pack(average + begin, mean);
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            mean[i] = averaged(factors, mean[i], weight[i]);
        }
        store_pack(average + begin, mean);
        return;
    }
    for (auto i = begin; i < end; ++i) {
        average[i] = averaged(factors, average[i], weights[i]);
    }
}

template <class T, class G>
void launch_update(const device::Stream& stream,
                   const AdamW& adamw,
                   float weight_decay,
                   float lr_factor,
                   const StepInputs* inputs,
                   const AdamWOperands<T, G>& of,
                   std::int64_t count,
                   bool has_sums) {
    launch_grid(stream, "adamw_update", a_thread_each((count + pack - 1) / pack), update<T, G>, adamw,
                weight_decay, lr_factor, inputs, of, count,
                are_aligned(of.master, of.gradient, of.m, of.v, of.parameters), has_sums);
}

}  // namespace

template <class T, class G>
void adamw_update(const device::Stream& stream,
                  const AdamW& adamw,
                  float weight_decay,
                  float lr_factor,
                  const StepInputs* inputs,
                  std::span<float> master,
                  std::span<const G> gradient,
                  std::span<float> m,
                  std::span<float> v,
                  std::span<T> parameters) {
    const AdamWOperands<T, G> of{.master = master.data(),
                                 .gradient = gradient.data(),
                                 .m = m.data(),
                                 .v = v.data(),
                                 .parameters = parameters.empty() ? nullptr : parameters.data()};
    launch_update(stream, adamw, weight_decay, lr_factor, inputs, of,
                  static_cast<std::int64_t>(master.size()), false);
}

template <class T, class G>
void adamw_update_with_norms(const device::Stream& stream,
                             const AdamW& adamw,
                             float weight_decay,
                             float lr_factor,
                             const StepInputs* inputs,
                             std::span<float> master,
                             std::span<const G> gradient,
                             std::span<float> m,
                             std::span<float> v,
                             std::span<T> parameters,
                             ExactSum* weights,
                             ExactSum* changes) {
    const AdamWOperands<T, G> of{.master = master.data(),
                                 .gradient = gradient.data(),
                                 .m = m.data(),
                                 .v = v.data(),
                                 .parameters = parameters.empty() ? nullptr : parameters.data()};
    const auto count = static_cast<std::int64_t>(master.size());
    launch_update(stream, adamw, weight_decay, lr_factor, inputs, of, count, true);
    const auto blocks = (count + square_block * warps_of_block - 1) / (square_block * warps_of_block);
    launch_grid(stream, "adamw_update_with_norms", {std::min(max_blocks, blocks), threads},
                update_and_sum<T, G>, adamw, weight_decay, lr_factor, inputs, of, count, weights, changes);
    launch_grid(stream, "adamw_update_with_norms", {1, warp_size}, move_carries_on, weights, changes);
}

void average_weights(const device::Stream& stream,
                     const StepInputs* inputs,
                     std::span<const float> weights,
                     std::span<float> average) {
    const auto count = static_cast<std::int64_t>(average.size());
    launch_grid(stream, "average_weights", a_thread_each((count + pack - 1) / pack), average_packs, inputs,
                weights.data(), average.data(), count, are_aligned(weights.data(), average.data()));
}

ZG_REGISTER_CUDA_KERNEL(average_weights);
ZG_REGISTER_CUDA_KERNEL(adamw_update<float, float>);
ZG_REGISTER_CUDA_KERNEL(adamw_update<float, tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(adamw_update<tensor::bfloat16, float>);
ZG_REGISTER_CUDA_KERNEL(adamw_update<tensor::bfloat16, tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(adamw_update_with_norms<float, float>);
ZG_REGISTER_CUDA_KERNEL(adamw_update_with_norms<float, tensor::bfloat16>);
ZG_REGISTER_CUDA_KERNEL(adamw_update_with_norms<tensor::bfloat16, float>);
ZG_REGISTER_CUDA_KERNEL(adamw_update_with_norms<tensor::bfloat16, tensor::bfloat16>);

}  // namespace ziggurat::kernels::cuda
