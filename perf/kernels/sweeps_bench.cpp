/// Time of every memory-bound kernel at the sizes of GPT-2 124M, against a copy.
///
/// The sizes are 4 sequences of 1024 on the host, and 32 on a GPU.
///
///   sweeps_bench [threads] [name]          one JSON line per kernel whose name contains `name`
///   sweeps_bench --gpu [name]              on the first GPU, timed by the GPU, many calls in sequence
///   sweeps_bench --gpu --small [name]      the same on few numbers: a functional test, not a measurement
///
/// Operands come from memory, not from a cache: each call uses other parts of a large pool.
/// `share_of_copy` is the kernel's bytes per second (each operand counted once per read and once per write)
/// over those of a plain copy kernel that alternates with it.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda.hpp"
#include "kernels/adamw.hpp"
#include "kernels/column_sum.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/gelu.hpp"
#include "kernels/glu/swiglu.hpp"
#include "kernels/gradient_norm.hpp"
#include "kernels/launch/runtime.hpp"
#include "kernels/norm/head_norm.hpp"
#include "kernels/norm/layer_norm.hpp"
#include "kernels/norm/rms_norm.hpp"
#include "kernels/norm/whole_norm.hpp"
#include "kernels/residual.hpp"
#include "perf/kernels/sweep_bench.hpp"
#include "tensor/bfloat16.hpp"

namespace {

using namespace ziggurat;
using namespace ziggurat::perf;
using kernels::Accumulate;
using tensor::bfloat16;
using tensor::TensorRef;

constexpr kernels::QkvHeads heads{4, 2, 128};  ///< 1,024 columns; groups and channels of Qwen3

template <class T>
void measure_norms(SweepBench& bench, const std::string& type) {
    const std::int64_t rows = bench.sizes.rows;
    const double matrix_bytes = double(rows * hidden) * sizeof(T);
    auto& pool = bench.pool;
    for (const float p : {0.0f, 0.1f}) {
        bench.measure(
            "residual_layer_norm_forward" + std::string{p > 0 ? "_dropout" : ""} + type, 4 * matrix_bytes,
            [&, p] {
                const auto x = pool.matrix<T>(rows, hidden);
                return [=, &bench, branch = pool.matrix<T>(rows, hidden), y = pool.matrix<T>(rows, hidden),
                        gain = pool.vector<T>(hidden), bias = pool.vector<T>(hidden),
                        mean = pool.vector<float>(rows), inv_std = pool.vector<float>(rows)] {
                    kernels::residual_layer_norm_forward<T>(bench.stream, x, branch, bench.dropout(p), gain,
                                                            bias, 1e-5f, x, y, mean, inv_std);
                };
            });
    }
    bench.measure("layer_norm_backward" + type, 4 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, hidden), dy = pool.matrix<T>(rows, hidden),
                dx = pool.matrix<T>(rows, hidden), gain = pool.vector<T>(hidden),
                mean = pool.vector<float>(rows), inv_std = pool.vector<float>(rows),
                d_gain = pool.vector<float>(hidden), d_bias = pool.vector<float>(hidden)] {
            kernels::layer_norm_backward<T>(bench.stream, x, dy, gain, mean, inv_std, dx, Accumulate::yes,
                                            d_gain, d_bias, Accumulate::no, bench.workspace);
        };
    });
    bench.measure("residual_rms_norm_forward" + type, 4 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, hidden), branch = pool.matrix<T>(rows, hidden),
                y = pool.matrix<T>(rows, hidden), gain = pool.vector<T>(hidden),
                inv_rms = pool.vector<float>(rows)] {
            kernels::residual_rms_norm_forward<T>(bench.stream, x, branch, {}, gain, 0, 1e-5f, x, y, inv_rms);
        };
    });
    bench.measure("rms_norm_backward" + type, 4 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, hidden), dy = pool.matrix<T>(rows, hidden),
                dx = pool.matrix<T>(rows, hidden), gain = pool.vector<T>(hidden),
                inv_rms = pool.vector<float>(rows), d_gain = pool.vector<float>(hidden)] {
            kernels::rms_norm_backward<T>(bench.stream, x, dy, gain, 0, inv_rms, dx, Accumulate::yes, d_gain,
                                          Accumulate::no, bench.workspace);
        };
    });
    const double heads_bytes = double(rows * heads.width()) * sizeof(T);
    bench.measure("head_norm_forward" + type, 2 * heads_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, heads.width()), y = pool.matrix<T>(rows, heads.width()),
                gain = pool.vector<T>(2 * heads.head_dim)] {
            kernels::head_norm_forward<T>(bench.stream, heads, x, gain, 0, 1e-6f, y);
        };
    });
    bench.measure("head_norm_backward" + type, 3 * heads_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, heads.width()), dx = pool.matrix<T>(rows, heads.width()),
                gain = pool.vector<T>(2 * heads.head_dim), d_gain = pool.vector<float>(2 * heads.head_dim)] {
            kernels::head_norm_backward<T>(bench.stream, heads, x, gain, 0, 1e-6f, dx, d_gain, Accumulate::no,
                                           bench.workspace);
        };
    });
    const std::int64_t normalized = (heads.heads + heads.kv_heads) * heads.head_dim;
    bench.measure("square_sums" + type, double(rows * normalized) * sizeof(T), [&] {
        return [&bench, x = pool.matrix<T>(rows, heads.width()), sums = pool.matrix<float>(rows, 2)] {
            kernels::square_sums<T>(bench.stream, heads, x, sums);
        };
    });
    bench.measure("whole_norm_forward" + type, 2 * heads_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, heads.width()), y = pool.matrix<T>(rows, heads.width()),
                sums = pool.matrix<float>(rows, 2), gain = pool.vector<T>(normalized)] {
            kernels::whole_norm_forward<T>(bench.stream, heads, 1, x, sums, gain, 1e-6f, y);
        };
    });
    bench.measure("whole_norm_backward" + type, 3 * double(rows * normalized) * sizeof(T), [&] {
        return [&bench, x = pool.matrix<T>(rows, heads.width()), dx = pool.matrix<T>(rows, heads.width()),
                sums = pool.matrix<float>(rows, 2), d_sums = pool.matrix<float>(rows, 2),
                gain = pool.vector<T>(normalized), d_gain = pool.vector<float>(normalized)] {
            kernels::whole_norm_backward<T>(bench.stream, heads, 1, x, sums, gain, 1e-6f, dx, d_sums, d_gain,
                                            Accumulate::no, bench.workspace);
        };
    });
    bench.measure("square_sums_backward" + type, 3 * double(rows * normalized) * sizeof(T), [&] {
        return [&bench, x = pool.matrix<T>(rows, heads.width()), dx = pool.matrix<T>(rows, heads.width()),
                d_sums = pool.matrix<float>(rows, 2)] {
            kernels::square_sums_backward<T>(bench.stream, heads, x, d_sums, dx);
        };
    });
}

template <class T>
void measure_activations(SweepBench& bench, const std::string& type) {
    const std::int64_t rows = bench.sizes.rows;
    const double matrix_bytes = double(rows * ffn) * sizeof(T);
    auto& pool = bench.pool;
    bench.measure("gelu_forward" + type, 2 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, ffn), y = pool.matrix<T>(rows, ffn)] {
            kernels::gelu_forward<T>(bench.stream, x, y);
        };
    });
    bench.measure("gelu_backward" + type, 3 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, ffn), dy = pool.matrix<T>(rows, ffn)] {
            kernels::gelu_backward<T>(bench.stream, x, dy);
        };
    });
    bench.measure("swiglu_forward" + type, 3 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, 2 * ffn), y = pool.matrix<T>(rows, ffn)] {
            kernels::swiglu_forward<T>(bench.stream, x, y);
        };
    });
    bench.measure("swiglu_backward" + type, 5 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, 2 * ffn), dy = pool.matrix<T>(rows, ffn),
                dx = pool.matrix<T>(rows, 2 * ffn)] { kernels::swiglu_backward<T>(bench.stream, x, dy, dx); };
    });
    bench.measure("swiglu_backward_with_output" + type, 6 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, 2 * ffn), dy = pool.matrix<T>(rows, ffn),
                dx = pool.matrix<T>(rows, 2 * ffn)] {
            kernels::swiglu_backward<T>(bench.stream, x, dy, dx, dy);
        };
    });
    bench.measure("geglu_forward" + type, 3 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, 2 * ffn), y = pool.matrix<T>(rows, ffn)] {
            kernels::geglu_forward<T>(bench.stream, x, y);
        };
    });
    bench.measure("geglu_backward" + type, 5 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, 2 * ffn), dy = pool.matrix<T>(rows, ffn),
                dx = pool.matrix<T>(rows, 2 * ffn)] { kernels::geglu_backward<T>(bench.stream, x, dy, dx); };
    });
    bench.measure("column_sum" + type, matrix_bytes, [&] {
        return [&bench, dy = pool.matrix<T>(rows, ffn), out = pool.vector<float>(ffn)] {
            kernels::column_sum<T>(bench.stream, dy, out, Accumulate::no, bench.workspace);
        };
    });
}

template <class T>
void measure_ends(SweepBench& bench, const std::string& type) {
    const std::int64_t rows = bench.sizes.rows;
    const double matrix_bytes = double(rows * hidden) * sizeof(T);
    const double gradient_bytes = double(rows * hidden) * sizeof(float);
    auto& pool = bench.pool;
    const TensorRef<const std::int32_t, 1> tokens{bench.tokens, {rows}};
    const TensorRef<const std::int32_t, 1> positions{bench.positions, {rows}};
    bench.measure("dropout_backward" + type, 2 * matrix_bytes, [&] {
        return [&bench, dy = pool.matrix<T>(rows, hidden), dx = pool.matrix<T>(rows, hidden)] {
            kernels::dropout_backward<T>(bench.stream, dy, bench.dropout(0.1f), dx);
        };
    });
    bench.measure("embedding_forward" + type, 2 * matrix_bytes, [&] {
        return [=, &bench, table = pool.matrix<T>(vocab_padded, hidden),
                position_table = pool.matrix<T>(sequence, hidden), out = pool.matrix<T>(rows, hidden)] {
            kernels::embedding_forward<T>(bench.stream, tokens, positions, table, 0, vocab_padded,
                                          position_table, {}, out);
        };
    });
    bench.measure("embedding_backward" + type, 2 * matrix_bytes + 2 * gradient_bytes, [&] {
        return [=, &bench, d_table = pool.matrix<float>(vocab_padded, hidden),
                d_positions = pool.matrix<float>(sequence, hidden), d_out = pool.matrix<T>(rows, hidden)] {
            kernels::embedding_backward<T>(bench.stream, tokens, positions, d_out, {}, d_table, 0,
                                           vocab_padded, Accumulate::yes, d_positions, Accumulate::no);
        };
    });
    const std::int64_t chunk = bench.sizes.loss_rows;
    const TensorRef<const std::int32_t, 1> targets{bench.tokens, {chunk}};
    bench.measure("cross_entropy" + type, 2.0 * double(chunk * vocab_padded) * sizeof(T), [&] {
        return [=, &bench, logits = pool.matrix<T>(chunk, vocab_padded), losses = pool.vector<float>(chunk)] {
            kernels::cross_entropy<T>(bench.stream, logits, vocab, targets, {}, bench.inputs, losses);
        };
    });
}

void measure_optimizer(SweepBench& bench) {
    auto& pool = bench.pool;
    const std::int64_t parameters = bench.sizes.parameters;
    const auto words = double(parameters);
    const kernels::AdamW adamw;
    bench.measure("sum_of_squares", 4.0 * words, [&] {
        return [&bench, g = pool.span<float>(parameters)] {
            kernels::sum_of_squares<float>(bench.stream, g, bench.sum);
        };
    });
    bench.measure("convert_f32_bf16", 6.0 * words, [&] {
        return [&bench, from = pool.span<const float>(parameters), to = pool.span<bfloat16>(parameters)] {
            kernels::convert<float, bfloat16>(bench.stream, from, to);
        };
    });
    bench.measure("convert_bf16_f32", 6.0 * words, [&] {
        return [&bench, from = pool.span<const bfloat16>(parameters), to = pool.span<float>(parameters)] {
            kernels::convert<bfloat16, float>(bench.stream, from, to);
        };
    });
    bench.measure("add_to", 12.0 * words, [&] {
        return [&bench, x = pool.span<const float>(parameters), into = pool.span<float>(parameters)] {
            kernels::add_to<float>(bench.stream, x, into);
        };
    });
    bench.measure("adamw_update_f32", 28.0 * words, [&] {
        return [=, &bench, p = pool.span<float>(parameters), g = pool.span<float>(parameters),
                m = pool.span<float>(parameters), v = pool.span<float>(parameters)] {
            kernels::adamw_update<float, float>(bench.stream, adamw, 0.1f, 1, bench.inputs, p, g, m, v, {});
        };
    });
    bench.measure("adamw_update_bf16", 30.0 * words, [&] {
        return [=, &bench, p = pool.span<float>(parameters), g = pool.span<float>(parameters),
                m = pool.span<float>(parameters), v = pool.span<float>(parameters),
                published = pool.span<bfloat16>(parameters)] {
            kernels::adamw_update<bfloat16, float>(bench.stream, adamw, 0.1f, 1, bench.inputs, p, g, m, v,
                                                   published);
        };
    });
}

std::unique_ptr<SweepBench> make_bench(bool on_gpu, const Sizes& sizes, int threads, std::string filter) {
    if (on_gpu) {
        if constexpr (device::has_cuda) {
            auto gpu = device::cuda::make_device(0, nullptr);
            auto stream = gpu->make_stream();
            return std::make_unique<SweepBench>(gpu, stream, sizes, true, std::move(filter));
        }
        std::puts("--gpu in a build without (ZIGGURAT_CUDA)");
        std::exit(2);
    }
    return std::make_unique<SweepBench>(device::make_host(threads), device::Stream{threads}, sizes, false,
                                        std::move(filter));
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<std::string> words{argv + 1, argv + argc};
    const bool on_gpu = std::erase(words, "--gpu") > 0;
    const bool is_small = std::erase(words, "--small") > 0;
    int threads = 2;
    if (!on_gpu && !words.empty()) {
        threads = std::atoi(words.front().c_str());
        words.erase(words.begin());
    }
    const kernels::Runtime runtime{threads};
    const Sizes sizes = is_small ? small : on_gpu ? of_gpu : Sizes{};
    const auto owner = make_bench(on_gpu, sizes, threads, words.empty() ? "" : words.front());
    SweepBench& bench = *owner;
    measure_optimizer(bench);
    measure_norms<float>(bench, "_f32");
    measure_norms<bfloat16>(bench, "_bf16");
    measure_activations<float>(bench, "_f32");
    measure_activations<bfloat16>(bench, "_bf16");
    measure_ends<float>(bench, "_f32");
    measure_ends<bfloat16>(bench, "_bf16");
    return 0;
}
