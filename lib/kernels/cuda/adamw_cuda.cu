#include "kernels/adamw.hpp"
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
template <class T, class G>
__global__ void __launch_bounds__(256) update(AdamW adamw,
                                              float weight_decay,
                                              float lr_factor,
                                              const StepInputs* inputs,
                                              AdamWOperands<T, G> of,
                                              std::int64_t count,
                                              bool is_aligned) {
    const auto begin = thread_of_grid() * pack;
    if (begin >= count) {
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
    const auto count = static_cast<std::int64_t>(master.size());
    launch_grid(stream, "adamw_update", a_thread_each((count + pack - 1) / pack), update<T, G>, adamw,
                weight_decay, lr_factor, inputs, of, count,
                are_aligned(of.master, of.gradient, of.m, of.v, of.parameters));
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

}  // namespace ziggurat::kernels::cuda
