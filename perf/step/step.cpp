/// Times whole training steps of one rank and compares them with their matrix products alone.
///
///   perf_step --model gpt2-124m --precision bf16 [--threads 2] [--sequences 4] [--seq 1024] [--steps 5]
///   [--no-floor]
///
/// Prints the products of the floor, a table by kernel, and one JSON line. The floor is measured before and
/// after the steps, which shows changes in the speed of the machine.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/clock.hpp"
#include "comm/session/session.hpp"
#include "kernels/launch/runtime.hpp"
#include "layout/counts.hpp"
#include "layout/families/family_descriptor.hpp"
#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "perf/options.hpp"
#include "perf/step/products.hpp"
#include "train/step/assembly.hpp"

namespace {

using namespace ziggurat;

struct Choice {
    std::string model = "gpt2-124m";
    std::string precision = "bf16";
    std::string recompute = "none";
    int threads = 2;
    std::int64_t sequences = 4;
    std::int64_t micro_batch = 0;
    std::int64_t seq = 1024;
    int steps = 5;
    bool no_floor = false;
};

Choice parse(int argc, char** argv) {
    Choice choice;
    perf::Options options{"Times whole training steps."};
    options.add("--model", choice.model,
                perf::one_of({"gpt2-124m", "llama-124m", "llama-1024", "qwen3-1024", "gemma-1024",
                              "gemma2-1024", "mistral-1024"}));
    options.add("--precision", choice.precision, perf::one_of({"f32", "bf16"}));
    options.add("--recompute", choice.recompute, perf::one_of({"none", "selective", "full"}));
    options.add("--threads", choice.threads);
    options.add("--sequences", choice.sequences, {}, "sequences per step");
    options.add("--micro-batch", choice.micro_batch, {}, "sequences at once; 0: all of them");
    options.add("--seq", choice.seq);
    options.add("--steps", choice.steps, perf::between(2, 1000));
    options.add_flag("--no-floor", choice.no_floor);
    options.read_or_exit(argc, argv);
    return choice;
}

/// Returns eight layers of width 1024 with grouped queries: the same products in each family.
///
/// Mistral has windows of 256 tokens, and Gemma 2 in every other layer. Gemma 2 has its soft caps.
spec::Model model_1024(const std::string& family) {
    spec::Model m;
    m.family = family;
    m.layers = 8;
    m.hidden = 1024;
    m.heads = 16;
    m.kv_heads = 4;
    m.head_dim = 64;
    m.ffn_hidden = 2816;
    m.vocab = m.vocab_padded = 32000;
    m.tie_embeddings = false;
    m.softcap = layout::family_of(m).softcap;
    m.window = family == "mistral" || m.softcap != spec::Softcap{} ? 256 : 0;
    m.full_attention_interval = m.softcap != spec::Softcap{} ? 2 : 0;
    return m;
}

spec::Model model_124m(const std::string& name) {
    spec::Model m;
    const bool is_gpt2 = name == "gpt2-124m";
    m.family = is_gpt2 ? "gpt2" : "llama";
    m.layers = 12;
    m.hidden = 768;
    m.heads = 12;
    m.kv_heads = is_gpt2 ? 12 : 4;
    m.head_dim = 64;
    m.ffn_hidden = is_gpt2 ? 3072 : 2048;
    m.vocab = is_gpt2 ? 50257 : 32000;
    m.vocab_padded = is_gpt2 ? 50304 : 32000;
    m.tie_embeddings = is_gpt2;
    return m;
}

spec::RunSpec spec_of(const Choice& choice) {
    spec::RunSpec run;
    run.model = choice.model.ends_with("-1024") ? model_1024(choice.model.substr(0, choice.model.find('-')))
                                                : model_124m(choice.model);
    run.model.max_seq = choice.seq;
    run.data.seq = choice.seq;
    run.train.steps = choice.steps;
    run.train.global_batch = choice.sequences;
    run.train.micro_batch = choice.micro_batch > 0 ? choice.micro_batch : choice.sequences;
    run.train.micro_batches = run.train.global_batch / run.train.micro_batch;
    run.parallel.threads = choice.threads;
    run.precision.compute = choice.precision == "f32" ? spec::DType::f32 : spec::DType::bf16;
    run.recompute.kind = choice.recompute == "none"        ? spec::RecomputeKind::none
                         : choice.recompute == "selective" ? spec::RecomputeKind::selective
                                                           : spec::RecomputeKind::full;
    run.tiers.chunk_elements = std::int64_t{4} << 20;
    return run;
}

/// Fills `slots` with random tokens. Each target depends on its token, so the loss can fall.
void fill(const spec::RunSpec& run, std::span<const train::BatchSlot> slots) {
    std::mt19937 random{7};
    for (const auto& slot : slots) {
        for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
            slot.tokens[i] = static_cast<std::int32_t>(random() % static_cast<unsigned>(run.model.vocab));
            slot.targets[i] =
                static_cast<std::int32_t>((std::int64_t{slot.tokens[i]} * 7 + 3) % run.model.vocab);
            slot.mask[i] = 1;
            slot.document_starts[i] = 0;
            slot.positions[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) % run.data.seq);
        }
    }
}

struct KernelSum {
    double seconds = 0;
    double flops = 0;
};

/// Returns the table row of an op: its phase, or its kind, and its direction.
std::string name_of(const schedule::Op& op, const layout::FamilyTable& table) {
    if (op.unit < 0 || op.phase < 0) {
        return to_string(op.kind);
    }
    const auto& unit = table.units[static_cast<std::size_t>(op.unit)];
    const auto& phase = unit.phases[static_cast<std::size_t>(op.phase)];
    const std::string direction =
        op.direction == schedule::Direction::none ? "pack" : to_string(op.direction);
    return phase.name + " " + direction;
}

/// Returns the kernel seconds of one step, by phase and direction.
std::map<std::string, KernelSum> sum_kernels(const train::Executor& executor,
                                             const layout::FamilyTable& table) {
    std::map<std::string, KernelSum> sums;
    for (const auto& record : executor.records()) {
        if (record.cause >= 0) {
            continue;
        }
        const auto& op = executor.program().ops[static_cast<std::size_t>(record.op)];
        auto& sum = sums[name_of(op, table)];
        sum.seconds += seconds_between(record.begin_ns, record.end_ns);
        sum.flops += op.flops;
    }
    return sums;
}

void print_kernels(const std::map<std::string, KernelSum>& sums, double step_seconds) {
    std::vector<std::pair<std::string, KernelSum>> sorted(sums.begin(), sums.end());
    std::ranges::sort(sorted,
                      [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
    fmt::print("{:<48} {:>9} {:>7} {:>9}\n", "kernel", "ms/step", "%", "GFLOP/s");
    for (const auto& [name, sum] : sorted) {
        const auto rate =
            sum.flops > 0 ? fmt::format("{:.0f}", sum.flops / sum.seconds * 1e-9) : std::string{};
        fmt::print("{:<48} {:>9.2f} {:>7.1f} {:>9}\n", name, sum.seconds * 1e3,
                   100 * sum.seconds / step_seconds, rate);
    }
}

/// Measures all products and keeps the best seconds of each in `best`.
void measure_floor(const std::vector<perf::Product>& products, spec::DType type, std::vector<double>& best) {
    best.resize(products.size(), 1e9);
    for (std::size_t i = 0; i < products.size(); ++i) {
        best[i] = std::min(best[i], perf::seconds_of(products[i], type));
    }
}

double floor_seconds(const std::vector<perf::Product>& products, const std::vector<double>& best) {
    double seconds = 0;
    for (std::size_t i = 0; i < products.size(); ++i) {
        seconds += best[i] * products[i].count;
    }
    return seconds;
}

void print_floor(const std::vector<perf::Product>& products, const std::vector<double>& best) {
    fmt::print("{:<44} {:>22} {:>7} {:>9} {:>9}\n", "product of the floor", "m x n x k", "count", "ms",
               "GFLOP/s");
    for (std::size_t i = 0; i < products.size(); ++i) {
        const auto& p = products[i];
        const auto size =
            fmt::format("{}{} x {} x {}", p.batch > 1 ? fmt::format("{} x ", p.batch) : "", p.m, p.n, p.k);
        fmt::print("{:<44} {:>22} {:>7.0f} {:>9.2f} {:>9.0f}\n", p.name, size, p.count, best[i] * 1e3,
                   p.flops() / p.count / best[i] * 1e-9);
    }
}

int measure(const Choice& choice) {
    const auto run = spec_of(choice);
    const comm::Session session{nullptr, nullptr};
    const kernels::Runtime runtime{choice.threads};
    const auto products = perf::products_of(run);
    std::vector<double> floor;
    if (!choice.no_floor) {
        measure_floor(products, run.precision.compute, floor);
    }

    train::Assembly assembly{run, session.world(), device::RankDevices::of_host(choice.threads)};
    fill(run, assembly.train_slots());
    const auto table = layout::family_table(run);
    double best = 1e9;
    std::map<std::string, KernelSum> kernels_of_best;
    for (int step = 0; step < choice.steps; ++step) {
        const auto begin = monotonic_ns();
        assembly.step_inputs() = optim::make_step_inputs(
            run.optimizer, {}, optim::learning_rate(run.schedule, run.optimizer.lr, run.train.steps, step),
            step, step + 1, run.train.global_batch * run.data.seq);
        assembly.train_executor().run_step();
        const double seconds = seconds_between(begin, monotonic_ns());
        fmt::print("step {} loss {:.5f} norm {:.4f} {:.3f} s\n", step,
                   assembly.outcome().loss_sum / double(run.train.global_batch * run.data.seq),
                   assembly.outcome().grad_norm, seconds);
        if (step > 0 && seconds < best) {
            best = seconds;
            kernels_of_best = sum_kernels(assembly.train_executor(), table);
        }
    }
    print_kernels(kernels_of_best, best);

    const double tokens = double(run.train.global_batch * run.data.seq);
    nlohmann::json line{{"measurement", "step"},
                        {"model", choice.model},
                        {"precision", choice.precision},
                        {"recompute", choice.recompute},
                        {"threads", choice.threads},
                        {"sequences", choice.sequences},
                        {"seq", choice.seq},
                        {"step_seconds", best},
                        {"tokens_per_second", tokens / best},
                        {"flops_per_second", layout::flops_per_token(run) * tokens / best}};
    if (!choice.no_floor) {
        measure_floor(products, run.precision.compute, floor);
        print_floor(products, floor);
        line["floor_seconds"] = floor_seconds(products, floor);
        line["share_of_floor"] = floor_seconds(products, floor) / best;
    }
    fmt::print("{}\n", line.dump());
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    return measure(parse(argc, argv));
}
