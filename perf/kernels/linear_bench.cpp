/// The three products of a linear layer, packing included, against plain oneDNN products.
///
/// Prints GFLOP/s, and the share of plain oneDNN products of the same shape in the same run.
#include <benchmark/benchmark.h>

#include "kernels/launch/runtime.hpp"
#include "kernels/linear.hpp"
#include "layout/host_workspaces.hpp"
#include "perf/kernels/plain_products.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat {
namespace {

constexpr int num_threads = 2;

/// range: rows, in, out.
template <class T>
void linear(benchmark::State& state) {
    const auto rows = state.range(0), in = state.range(1), out = state.range(2);
    const device::Stream stream{num_threads};
    const kernels::Linear<T> layer{stream, {rows, in, out, false}};
    auto x = perf::some_values<T>(rows * in), w = perf::some_values<T>(out * in);
    auto y = perf::some_values<T>(rows * out);
    std::vector<float> dw(w.size());
    std::vector<std::byte> workspace(
        static_cast<std::size_t>(layout::HostWorkspaces{sizeof(T), num_threads}.linear(rows, in, out)));
    const tensor::TensorRef<T, 2> x_ref{x.data(), {rows, in}}, w_ref{w.data(), {out, in}},
        y_ref{y.data(), {rows, out}};
    const tensor::TensorRef<float, 2> dw_ref{dw.data(), {out, in}};
    perf::PlainLinear<T> plain{rows, in, out};
    const auto run = [&](int which) {
        switch (which) {
            case 0:
                return layer.forward(stream, x_ref, w_ref, {}, y_ref, workspace);
            case 1:
                return layer.backward_input(stream, y_ref, w_ref, x_ref, workspace);
            default:
                return layer.backward_weight(stream, x_ref, y_ref, dw_ref, kernels::Accumulate::yes,
                                             workspace);
        }
    };
    constexpr const char* names[] = {"forward", "backward_input", "backward_weight"};
    perf::Best ours[3], theirs[3];

    for (auto _ : state) {
        for (int round = 0; round < 8; ++round) {
            for (int which = 0; which < 3; ++which) {
                theirs[which].add(perf::seconds_of([&] { plain.run(which); }));
                ours[which].add(perf::seconds_of([&] { run(which); }));
            }
        }
    }

    for (int which = 0; which < 3; ++which) {
        const std::string name = names[which];
        state.counters[name + "_GFLOPs"] = 1e-9 * plain.flops() / ours[which].seconds();
        state.counters[name + "_share"] = theirs[which].seconds() / ours[which].seconds();
    }
}

#define ZG_SHAPES                 \
    Args({4096, 768, 2304})       \
        ->Args({4096, 768, 768})  \
        ->Args({4096, 768, 3072}) \
        ->Args({4096, 3072, 768}) \
        ->Args({1024, 768, 50304})
BENCHMARK(linear<float>)->ZG_SHAPES->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(linear<tensor::bfloat16>)->ZG_SHAPES->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace ziggurat

int main(int argc, char** argv) {
    const ziggurat::kernels::Runtime runtime{ziggurat::num_threads};
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
