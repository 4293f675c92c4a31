/// Attention forward and backward: GFLOP/s of the causal half, and the share of plain oneDNN in the
/// same run.
#include <benchmark/benchmark.h>
#include <omp.h>

#include "kernels/attention.hpp"
#include "kernels/launch/runtime.hpp"
#include "layout/host_workspaces.hpp"
#include "perf/kernels/plain_products.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat {
namespace {

constexpr int num_threads = 2;

/// range: batch, sequence, query heads, key and value heads, head dimension.
template <class T>
void attention(benchmark::State& state) {
    const kernels::AttentionShape shape{state.range(0), state.range(1), state.range(2), state.range(3),
                                        state.range(4)};
    const auto rows = shape.batch * shape.seq;
    const auto width = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    const auto out_width = shape.heads * shape.head_dim;
    auto qkv = perf::some_values<T>(rows * width);
    auto d_qkv = qkv;
    auto out = perf::some_values<T>(rows * out_width);
    auto d_out = out;
    std::vector<float> lse(static_cast<std::size_t>(rows * shape.heads));
    std::vector<std::byte> workspace(static_cast<std::size_t>(
        layout::HostWorkspaces{sizeof(T), num_threads}.attention(shape.seq, shape.head_dim)));
    const device::Stream stream{num_threads};
    const tensor::TensorRef<T, 2> qkv_ref{qkv.data(), {rows, width}}, d_qkv_ref{d_qkv.data(), {rows, width}};
    const tensor::TensorRef<T, 2> out_ref{out.data(), {rows, out_width}},
        d_out_ref{d_out.data(), {rows, out_width}};
    const tensor::TensorRef<float, 3> lse_ref{lse.data(), {shape.batch, shape.heads, shape.seq}};
    perf::PlainLayer<T> plain;
    perf::Best forward, backward;

    for (auto _ : state) {
        for (std::size_t i = 0; i < plain.num_products(); ++i) {
            plain.run();
            forward.add(perf::seconds_of([&] {
                kernels::attention_forward<T>(stream, shape, qkv_ref, {}, {}, out_ref, lse_ref, workspace);
            }));
            backward.add(perf::seconds_of([&] {
                kernels::attention_backward<T>(stream, shape, qkv_ref, {}, {}, out_ref, d_out_ref, lse_ref,
                                               d_qkv_ref, workspace);
            }));
        }
    }

    const double causal_half = 1e-9 * double(shape.batch * shape.heads) * double(shape.seq) *
                               double(shape.seq) * double(shape.head_dim);
    state.counters["plain_GFLOPs"] = plain.gflops();
    state.counters["forward_GFLOPs"] = 2 * causal_half / forward.seconds();
    state.counters["forward_share"] = 2 * causal_half / forward.seconds() / plain.gflops();
    state.counters["backward_GFLOPs"] = 5 * causal_half / backward.seconds();
    state.counters["backward_share"] = 5 * causal_half / backward.seconds() / plain.gflops();
    state.counters["forward_ms"] = 1e3 * forward.seconds();
    state.counters["backward_ms"] = 1e3 * backward.seconds();
}

#define ZG_SHAPES                    \
    Args({4, 1024, 12, 12, 64})      \
        ->Args({1, 4096, 12, 4, 64}) \
        ->Args({2, 1024, 8, 2, 128}) \
        ->Args({4, 1024, 16, 16, 80})
BENCHMARK(attention<float>)->ZG_SHAPES->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(attention<tensor::bfloat16>)->ZG_SHAPES->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace ziggurat

int main(int argc, char** argv) {
    const ziggurat::kernels::Runtime runtime{ziggurat::num_threads};
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}
