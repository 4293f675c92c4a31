/// Time of every kernel that is a sweep over memory, at the sizes of GPT-2 124M (4 sequences of 1024), beside
/// a copy.
///
///   sweeps_bench [threads] [name]     one JSON line per kernel whose name contains `name`
///
/// Operands come from memory, not from a cache: each repetition takes others out of a large pool.
/// `share_of_copy` is the kernel's bytes per second (each operand counted once per read and once per write)
/// over those of a plain copy loop that runs in turn with it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernels/adamw.hpp"
#include "kernels/column_sum.hpp"
#include "kernels/cross_entropy.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/embedding.hpp"
#include "kernels/gelu.hpp"
#include "kernels/gradient_norm.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/residual.hpp"
#include "kernels/rms_norm.hpp"
#include "kernels/runtime.hpp"
#include "kernels/swiglu.hpp"
#include "layout/host_workspaces.hpp"
#include "perf/kernels/operand_pool.hpp"
#include "tensor/bfloat16.hpp"

namespace {

using namespace ziggurat;
using kernels::Accumulate;
using tensor::bfloat16;
using tensor::TensorRef;

constexpr std::int64_t rows = 4096;
constexpr std::int64_t sequence = 1024;
constexpr std::int64_t hidden = 768;
constexpr std::int64_t ffn = 3072;
constexpr std::int64_t vocab = 50257;
constexpr std::int64_t vocab_padded = 50304;
constexpr std::int64_t parameters = 124'475'904;
constexpr std::int64_t copy_elements = std::int64_t{16} << 20;
constexpr int repetitions = 9;

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class Bench {
  public:
    Bench(int threads, std::string filter) : stream{threads}, threads_{threads}, filter_{std::move(filter)} {
        inputs.loss_scale = 1.0f / rows;
        inputs.learning_rate = 1e-4f;
        for (std::int64_t r = 0; r < rows; ++r) {
            tokens.push_back(static_cast<std::int32_t>(r * 7919 % vocab));
            positions.push_back(static_cast<std::int32_t>(r % sequence));
        }
    }

    /// Times what prepare() returns; only the call of the result is timed.
    void measure(const std::string& name,
                 double bytes,
                 const std::function<std::function<void()>()>& prepare) {
        if (name.find(filter_) == std::string::npos) {
            return;
        }
        double best = 1e30;
        double best_copy = 1e30;
        for (int i = 0; i < repetitions; ++i) {
            const auto from = pool.span<const float>(copy_elements);
            const auto to = pool.span<float>(copy_elements);
            best_copy =
                std::min(best_copy, seconds_of([&] { kernels::convert<float, float>(stream, from, to); }));
            best = std::min(best, seconds_of(prepare()));
        }
        const double rate = bytes / best / 1e9;
        const double copy_rate = 8.0 * double(copy_elements) / best_copy / 1e9;
        std::printf(
            "{\"name\": \"%s\", \"threads\": %d, \"ms\": %.3f, \"GB_per_s\": %.1f, \"copy_GB_per_s\": %.1f, "
            "\"share_of_copy\": %.2f}\n",
            name.c_str(), threads_, best * 1e3, rate, copy_rate, rate / copy_rate);
        std::fflush(stdout);
    }

    kernels::Dropout dropout(float probability) const {
        return {.probability = probability,
                .seed = 1,
                .samples = samples.data(),
                .sequence = sequence,
                .inputs = &inputs};
    }

    device::Stream stream;
    perf::OperandPool pool{std::int64_t{3} << 30};
    kernels::StepInputs inputs;
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> positions;
    std::vector<std::int64_t> samples{0, 1, 2, 3};
    std::vector<std::byte> workspace =
        std::vector<std::byte>(static_cast<std::size_t>(layout::HostWorkspaces::column_sum_bytes(ffn)));

  private:
    int threads_;
    std::string filter_;
};

template <class T>
void measure_norms(Bench& bench, const std::string& type) {
    constexpr double matrix_bytes = double(rows * hidden) * sizeof(T);
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
            kernels::layer_norm_backward<T>(bench.stream, x, dy, gain, mean, inv_std, dx, d_gain, d_bias,
                                            Accumulate::no, bench.workspace);
        };
    });
    bench.measure("residual_rms_norm_forward" + type, 4 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, hidden), branch = pool.matrix<T>(rows, hidden),
                y = pool.matrix<T>(rows, hidden), gain = pool.vector<T>(hidden),
                inv_rms = pool.vector<float>(rows)] {
            kernels::residual_rms_norm_forward<T>(bench.stream, x, branch, {}, gain, 1e-5f, x, y, inv_rms);
        };
    });
    bench.measure("rms_norm_backward" + type, 4 * matrix_bytes, [&] {
        return [&bench, x = pool.matrix<T>(rows, hidden), dy = pool.matrix<T>(rows, hidden),
                dx = pool.matrix<T>(rows, hidden), gain = pool.vector<T>(hidden),
                inv_rms = pool.vector<float>(rows), d_gain = pool.vector<float>(hidden)] {
            kernels::rms_norm_backward<T>(bench.stream, x, dy, gain, inv_rms, dx, d_gain, Accumulate::no,
                                          bench.workspace);
        };
    });
}

template <class T>
void measure_activations(Bench& bench, const std::string& type) {
    constexpr double matrix_bytes = double(rows * ffn) * sizeof(T);
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
    bench.measure("column_sum" + type, matrix_bytes, [&] {
        return [&bench, dy = pool.matrix<T>(rows, ffn), out = pool.vector<float>(ffn)] {
            kernels::column_sum<T>(bench.stream, dy, out, Accumulate::no, bench.workspace);
        };
    });
}

template <class T>
void measure_ends(Bench& bench, const std::string& type) {
    constexpr double matrix_bytes = double(rows * hidden) * sizeof(T);
    constexpr double gradient_bytes = double(rows * hidden) * sizeof(float);
    auto& pool = bench.pool;
    const TensorRef<const std::int32_t, 1> tokens{bench.tokens.data(), {rows}};
    const TensorRef<const std::int32_t, 1> positions{bench.positions.data(), {rows}};
    bench.measure("dropout_backward" + type, 2 * matrix_bytes, [&] {
        return [&bench, dy = pool.matrix<T>(rows, hidden), dx = pool.matrix<T>(rows, hidden)] {
            kernels::dropout_backward<T>(bench.stream, dy, bench.dropout(0.1f), dx);
        };
    });
    bench.measure("embedding_forward" + type, 2 * matrix_bytes, [&] {
        return [=, &bench, table = pool.matrix<T>(vocab_padded, hidden),
                position_table = pool.matrix<T>(sequence, hidden), out = pool.matrix<T>(rows, hidden)] {
            kernels::embedding_forward<T>(bench.stream, tokens, positions, table, position_table, {}, out);
        };
    });
    bench.measure("embedding_backward" + type, 2 * matrix_bytes + 2 * gradient_bytes, [&] {
        return [=, &bench, d_table = pool.matrix<float>(vocab_padded, hidden),
                d_positions = pool.matrix<float>(sequence, hidden), d_out = pool.matrix<T>(rows, hidden)] {
            kernels::embedding_backward<T>(bench.stream, tokens, positions, d_out, {}, d_table,
                                           Accumulate::yes, d_positions, Accumulate::no);
        };
    });
    constexpr std::int64_t chunk = 1024;
    const TensorRef<const std::int32_t, 1> targets{bench.tokens.data(), {chunk}};
    bench.measure("cross_entropy" + type, 2.0 * chunk * vocab_padded * sizeof(T), [&] {
        return [=, &bench, logits = pool.matrix<T>(chunk, vocab_padded), losses = pool.vector<float>(chunk)] {
            kernels::cross_entropy<T>(bench.stream, logits, vocab, targets, {}, &bench.inputs, losses);
        };
    });
}

void measure_optimizer(Bench& bench) {
    auto& pool = bench.pool;
    const kernels::AdamW adamw;
    bench.measure("sum_of_squares", 4.0 * parameters, [&] {
        return [&bench, g = pool.span<float>(parameters)] {
            ExactSum sum;
            kernels::sum_of_squares(bench.stream, g, &sum);
            if (!sum.is_finite()) {
                std::puts("broken operands (a square is not finite).");
            }
        };
    });
    bench.measure("convert_f32_bf16", 6.0 * parameters, [&] {
        return [&bench, from = pool.span<const float>(parameters), to = pool.span<bfloat16>(parameters)] {
            kernels::convert<float, bfloat16>(bench.stream, from, to);
        };
    });
    bench.measure("convert_bf16_f32", 6.0 * parameters, [&] {
        return [&bench, from = pool.span<const bfloat16>(parameters), to = pool.span<float>(parameters)] {
            kernels::convert<bfloat16, float>(bench.stream, from, to);
        };
    });
    bench.measure("add_to", 12.0 * parameters, [&] {
        return [&bench, x = pool.span<const float>(parameters), into = pool.span<float>(parameters)] {
            kernels::add_to(bench.stream, x, into);
        };
    });
    bench.measure("adamw_update_f32", 28.0 * parameters, [&] {
        return [=, &bench, p = pool.span<float>(parameters), g = pool.span<float>(parameters),
                m = pool.span<float>(parameters), v = pool.span<float>(parameters)] {
            kernels::adamw_update<float>(bench.stream, adamw, 0.1f, 1, &bench.inputs, p, g, m, v, {});
        };
    });
    bench.measure("adamw_update_bf16", 30.0 * parameters, [&] {
        return [=, &bench, p = pool.span<float>(parameters), g = pool.span<float>(parameters),
                m = pool.span<float>(parameters), v = pool.span<float>(parameters),
                published = pool.span<bfloat16>(parameters)] {
            kernels::adamw_update<bfloat16>(bench.stream, adamw, 0.1f, 1, &bench.inputs, p, g, m, v,
                                            published);
        };
    });
}

}  // namespace

int main(int argc, char** argv) {
    const int threads = argc > 1 ? std::atoi(argv[1]) : 2;
    const kernels::Runtime runtime{threads};
    Bench bench{threads, argc > 2 ? argv[2] : ""};
    measure_optimizer(bench);
    measure_norms<float>(bench, "_f32");
    measure_norms<bfloat16>(bench, "_bf16");
    measure_activations<float>(bench, "_f32");
    measure_activations<bfloat16>(bench, "_bf16");
    measure_ends<float>(bench, "_f32");
    measure_ends<bfloat16>(bench, "_bf16");
    return 0;
}
