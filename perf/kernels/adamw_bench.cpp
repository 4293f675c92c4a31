/// AdamW over the parameters of GPT-2 124M, against a loop that reads and writes the same streams.
///
///   adamw_bench [threads]     one JSON line per pair of types
///
/// Both read gradient, master, m and v and write master, m, v and, in bf16, the parameters; the plain loop
/// only adds. They run alternately, on operands from memory; the median of each counts. With "both casts" the
/// gradient is read in bf16 as well.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/adamw.hpp"
#include "kernels/launch/runtime.hpp"
#include "perf/kernels/operand_pool.hpp"
#include "tensor/bfloat16.hpp"

namespace {

using namespace ziggurat;
using tensor::bfloat16;

constexpr std::int64_t parameters = 124'475'904;
constexpr std::int64_t block = 8192;
constexpr int rounds = 15;

struct State {
    std::span<float> master;
    std::span<float> gradient;
    std::span<bfloat16> half_gradient;
    std::span<float> m;
    std::span<float> v;
    std::span<bfloat16> published;

    template <class G>
    std::span<G> gradient_as() const {
        if constexpr (std::is_same_v<G, float>) {
            return gradient;
        } else {
            return half_gradient;
        }
    }
};

template <class G>
void add_block(const State& s, std::int64_t begin, std::int64_t count, bool publishes) {
    float* master = s.master.data() + begin;
    const G* gradients = s.gradient_as<G>().data() + begin;
    float* m = s.m.data() + begin;
    float* v = s.v.data() + begin;
    bfloat16* published = s.published.data() + begin;
    if (publishes) {
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
            const float gradient = static_cast<float>(gradients[i]);
            m[i] += gradient;
            v[i] += gradient;
            const float weight = master[i] + gradient;
            master[i] = weight;
            tensor::store(published[i], weight);
        }
    } else {
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
            const float gradient = static_cast<float>(gradients[i]);
            m[i] += gradient;
            v[i] += gradient;
            master[i] += gradient;
        }
    }
}

template <class G>
void add_all(const State& s, int threads, bool publishes) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (std::int64_t begin = 0; begin < parameters; begin += block) {
        add_block<G>(s, begin, std::min(block, parameters - begin), publishes);
    }
}

template <class Work>
double seconds_of(const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// `G` and `T`: the types of gradients and parameters.
template <class G, class T>
void measure(const State& s, int threads, const char* type) {
    constexpr bool publishes = !std::is_same_v<T, float>;
    constexpr double bytes = double(parameters) * (24 + sizeof(G) + (publishes ? sizeof(T) : 0));
    const device::Stream stream{threads};
    kernels::StepInputs inputs;
    inputs.learning_rate = 1e-4f;
    std::span<T> published;
    if constexpr (publishes) {
        published = s.published;
    }
    const auto update = [&] {
        kernels::adamw_update<T, G>(stream, {}, 0.1f, 1, &inputs, s.master,
                                    std::span<const G>{s.gradient_as<G>()}, s.m, s.v, published);
    };
    const auto add = [&] { add_all<G>(s, threads, publishes); };

    std::vector<double> ours, plain;
    update();
    add();
    for (int round = 0; round < rounds; ++round) {
        ours.push_back(seconds_of(update));
        plain.push_back(seconds_of(add));
    }
    std::printf(
        "{\"measurement\": \"adamw\", \"type\": \"%s\", \"threads\": %d, \"seconds\": %.6f, "
        "\"plain_seconds\": %.6f, \"GB_per_s\": %.1f, \"share_of_plain\": %.4f}\n",
        type, threads, median(ours), median(plain), bytes / median(ours) / 1e9, median(plain) / median(ours));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    const kernels::Runtime runtime{threads};
    perf::OperandPool pool{parameters * 20 + (std::int64_t{1} << 20)};
    const State state{.master = pool.span<float>(parameters),
                      .gradient = pool.span<float>(parameters),
                      .half_gradient = pool.span<bfloat16>(parameters),
                      .m = pool.span<float>(parameters),
                      .v = pool.span<float>(parameters),
                      .published = pool.span<bfloat16>(parameters)};
    measure<float, float>(state, threads, "f32");
    measure<float, bfloat16>(state, threads, "bf16");
    measure<bfloat16, bfloat16>(state, threads, "both casts");
    return 0;
}
