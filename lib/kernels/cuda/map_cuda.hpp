/// map: applies a function to the elements of flat buffers; only *_cuda.cu files include it.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/pack_cuda.hpp"

namespace ziggurat::kernels::cuda {

struct Zero {
    __device__ float operator()() const { return 0.0F; }
};

/// Computes to[i] = function(from[i]...) for a pack, or for the rest of one.
template <class Function, class To, class... From>
__global__ void __launch_bounds__(256)
    map_packs(Function function, std::int64_t count, bool is_aligned, To* to, const From*... from) {
    const auto begin = thread_of_grid() * pack;
    if (begin >= count) {
        return;
    }
    const auto end = begin + pack < count ? begin + pack : count;
    if (!is_aligned || end - begin < pack) {
        for (auto i = begin; i < end; ++i) {
            tensor::store(to[i], function(float(from[i])...));
        }
        return;
    }
    struct Loaded {
        float element[pack];
    };
    [[maybe_unused]] const auto load = [begin](const auto* vector) {
        Loaded loaded;
        load_pack(vector + begin, loaded.element);
        return loaded;
    };
    const auto store = [&](const auto&... loaded) {
        float made[pack];
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            made[i] = function(loaded.element[i]...);
        }
        store_pack(to + begin, made);
    };
    store(load(from)...);
}

/// Applies `Function`, a type with operator() of floats. `to` may be one of `from`.
template <class Function, class To, class... From>
void map(const device::Stream& stream,
         const char* name,
         Function function,
         std::int64_t count,
         To* to,
         const From*... from) {
    launch_grid(stream, name, a_thread_each((count + pack - 1) / pack), map_packs<Function, To, From...>,
                function, count, are_aligned(to, from...), to, from...);
}

}  // namespace ziggurat::kernels::cuda
