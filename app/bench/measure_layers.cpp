#include "app/bench/measure_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "app/bench/timed_rounds.hpp"
#include "base/clock.hpp"
#include "base/contract.hpp"
#include "comm/built_with.hpp"
#include "layout/families/family_descriptor.hpp"
#include "optim/adamw_inputs.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::app {
namespace {

using schedule::Engine;

constexpr double seconds_of_steps = 3;
constexpr int min_steps = 3;
constexpr int max_steps = 20;

/// Widths of a sample model, and its batch on each rank.
struct SampleWidths {
    std::int64_t hidden, heads, kv_heads, vocab, seq, micro_batch;
};

SampleWidths widths_of(SampleSize size, bool has_gpu) {
    switch (size) {
        case SampleSize::tiny:
            return {64, 2, 1, 256, 16, 1};
        case SampleSize::brief:
            return {128, 4, 2, 512, 64, 2};
        case SampleSize::realistic:
            return has_gpu ? SampleWidths{2048, 16, 4, 32768, 2048, 4}
                           : SampleWidths{768, 12, 4, 8192, 512, 1};
    }
    return {};
}

void fill(const spec::RunSpec& run, std::span<const train::BatchSlot> slots) {
    std::mt19937 random{7};
    const auto draw = [&] {
        return static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(run.model.vocab));
    };
    for (const auto& slot : slots) {
        std::ranges::generate(slot.tokens, draw);
        std::ranges::generate(slot.targets, draw);
        std::ranges::fill(slot.mask, std::uint8_t{1});
        std::ranges::fill(slot.document_starts, 0);
        for (std::size_t i = 0; i < slot.positions.size(); ++i) {
            slot.positions[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(run.data.seq));
        }
    }
}

/// Times of the ops of the compute lane over several steps.
class OpClock {
  public:
    explicit OpClock(const schedule::Program& program) : program_{program}, seconds_(program.ops.size()) {}

    /// Adds the last step of `executor`.
    void add(const train::Executor& executor) {
        const train::LaneRecord* before = nullptr;
        for (const auto& record : executor.records()) {
            const auto& op = program_.ops[static_cast<std::size_t>(record.op)];
            if (program_.lanes[static_cast<std::size_t>(op.lane)].engine != Engine::compute) {
                continue;
            }
            if (record.cause >= 0) {
                before = nullptr;  // stalls for other lanes are not part of the dispatch
                continue;
            }
            seconds_[static_cast<std::size_t>(record.op)].push_back(
                seconds_between(record.begin_ns, record.end_ns));
            if (before != nullptr && before->end_ns <= record.begin_ns) {
                dispatches_.push_back(seconds_between(before->end_ns, record.begin_ns));
            }
            before = &record;
        }
    }

    /// Returns the lower quartile of each op, with that of the time between two ops.
    std::vector<double> usual() const {
        const double dispatch = dispatches_.empty() ? 0 : quartile_of(dispatches_);
        std::vector<double> usual;
        for (const auto& of_op : seconds_) {
            usual.push_back(of_op.empty() ? 0 : quartile_of(of_op) + dispatch);
        }
        return usual;
    }

  private:
    const schedule::Program& program_;
    std::vector<std::vector<double>> seconds_;  ///< by op
    std::vector<double> dispatches_;
};

}  // namespace

std::vector<std::string> sample_families() {
    std::vector<std::string> names;
    for (const bool is_grouped : {true, false}) {
        const auto found = std::ranges::find(layout::families(), is_grouped,
                                             [](const auto* family) { return family->has_grouped_queries; });
        names.emplace_back((*found)->name);
    }
    return names;
}

spec::RunSpec sample_run(const spec::RunSpec& launch, const std::string& family, SampleSize size) {
    const auto widths = widths_of(size, launch.tiers.device == spec::DeviceKind::cuda);
    auto run = launch;
    auto& model = run.model;
    model.family = family;
    model.layers = 2;
    model.hidden = widths.hidden;
    model.heads = widths.heads;
    model.head_dim = widths.hidden / widths.heads;
    model.vocab = model.vocab_padded = widths.vocab;
    model.max_seq = run.data.seq = widths.seq;
    const auto& described = layout::family_of(model);
    const bool is_grouped = described.has_grouped_queries;
    model.kv_heads = is_grouped ? widths.kv_heads : widths.heads;
    model.ffn_hidden = is_grouped ? widths.hidden * 8 / 3 / 64 * 64 : 4 * widths.hidden;
    model.tie_embeddings = described.ties_embeddings;
    model.rotary_fraction = described.rotary_fraction;
    run.precision.compute = spec::DType::bf16;
    run.train.micro_batch = widths.micro_batch;
    run.train.micro_batches = 1;
    run.train.global_batch = widths.micro_batch * run.parallel.ranks;
    return run;
}

TimedModel measure_layers(BenchRanks& ranks, const spec::RunSpec& run) {
    TimedModel timed{.run = run,
                     .program = schedule::build_program(run, ranks.world().rank(), schedule::Variant::train),
                     .layout = std::make_unique<schedule::ModelLayout>(run, ranks.world().rank())};
    train::Assembly assembly{timed.run, ranks.world(), ranks.devices()};
    fill(run, assembly.train_slots());
    OpClock clock{timed.program};
    std::vector<double> steps;
    const auto one_step = [&] {
        const auto step = static_cast<std::int64_t>(steps.size());
        const auto begin = monotonic_ns();
        assembly.step_inputs() = optim::make_step_inputs(run.optimizer, {}, 1e-4, step, step + 1,
                                                         run.train.global_batch * run.data.seq);
        assembly.train_executor().run_step();
        steps.push_back(seconds_between(begin, monotonic_ns()));
    };
    one_step();  // touches memory and loads kernels
    one_step();
    const double second = ranks.slowest({steps.back()}).front();
    const int count = std::clamp(static_cast<int>(seconds_of_steps / second), min_steps, max_steps);
    steps.clear();
    for (int step = 0; step < count; ++step) {
        one_step();
        clock.add(assembly.train_executor());
        ranks.advance();
    }
    assembly.train_executor().finish();
    timed.seconds = ranks.slowest(clock.usual());
    timed.step_seconds = ranks.slowest({quartile_of(steps)}).front();
    return timed;
}

}  // namespace ziggurat::app
