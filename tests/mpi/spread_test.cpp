/// Class B of the data axis: gradients of the first step and weights after 20 steps, beside one rank that
/// does all.
///
/// Every rank trains the whole global batch alone as well, with other micro-batches and threads, and
/// compares.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "layout/family.hpp"
#include "optim/step_inputs.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/rank_test.hpp"
#include "train/assembly.hpp"

namespace ziggurat::train {
namespace {

constexpr std::int64_t global_batch = 30;
constexpr std::int64_t seq = 12;
constexpr std::int64_t steps = 20;

/// What one way of spreading is.
struct Spread {
    int ranks = 1;
    std::int64_t micro_batch = 1;
    spec::ReducePlan reduce = spec::ReducePlan::at_end;
};

spec::RunSpec spec_of(spec::Family family, const Spread& spread) {
    spec::RunSpec run;
    run.model.family = family;
    run.model.layers = 2;
    run.model.hidden = 36;
    run.model.heads = 6;
    run.model.kv_heads = family == spec::Family::gpt2 ? 6 : 2;
    run.model.head_dim = 6;
    run.model.ffn_hidden = 52;
    run.model.vocab = 41;
    run.model.vocab_padded = 48;
    run.model.max_seq = seq;
    run.model.tie_embeddings = family == spec::Family::gpt2;
    run.model.dropout = family == spec::Family::gpt2 ? 0.1 : 0;
    run.data.seq = seq;
    run.train.steps = steps;
    run.train.global_batch = global_batch;
    run.train.micro_batch = spread.micro_batch;
    run.train.micro_batches = global_batch / spread.ranks / spread.micro_batch;
    run.parallel.ranks = run.parallel.ranks_per_node = run.parallel.data = spread.ranks;
    run.parallel.threads = 1;
    run.sharding.reduce = spread.reduce;
    run.sharding.sum_group = spread.ranks;
    run.optimizer.lr = 1e-3;
    run.schedule.kind = spec::ScheduleKind::constant;
    return run;
}

/// Tokens that are a function of step and global sample alone, some of them masked.
void fill(const BatchSlot& slot, std::int64_t first_sample, std::int64_t step) {
    for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
        const auto sample = first_sample + static_cast<std::int64_t>(i) / seq;
        const auto position = static_cast<std::int64_t>(i) % seq;
        slot.tokens[i] = static_cast<std::int32_t>((sample * 7 + position * position + step * 3) % 41);
        slot.targets[i] =
            static_cast<std::int32_t>((sample * 7 + (position + 1) * (position + 1) + step * 3) % 41);
        slot.positions[i] = static_cast<std::int32_t>(position);
        slot.document_starts[i] = 0;
        slot.mask[i] = (sample + position) % 5 != 0 ? 1 : 0;
    }
    for (std::size_t row = 0; row < slot.samples.size(); ++row) {
        slot.samples[row] = step * global_batch + first_sample + static_cast<std::int64_t>(row);
    }
}

using Tensors = std::map<std::string, std::vector<float>>;

/// What a training leaves: losses of all steps, gradients of the first and the weights at its end.
struct Outcome {
    std::vector<double> losses;
    Tensors gradients;
    Tensors weights;
};

Tensors all_tensors(const Assembly& assembly, const spec::RunSpec& run, schedule::StateKind kind) {
    Tensors all;
    for (const auto& unit : layout::family_table(run.model, 1, false).units) {
        for (const auto& parameter : unit.parameters) {
            all[parameter.name] = assembly.tensor(kind, parameter.name);
        }
    }
    return all;
}

Outcome train_with(const spec::RunSpec& run, const comm::Communicator& group) {
    const device::Stream stream{run.parallel.threads};
    const comm::AbortFlag abort;
    Assembly assembly{run, group, stream, abort};
    std::int64_t targets = 0;
    for (std::int64_t sample = 0; sample < global_batch; ++sample) {
        for (std::int64_t position = 0; position < seq; ++position) {
            targets += (sample + position) % 5 != 0 ? 1 : 0;
        }
    }
    Outcome outcome;
    for (std::int64_t step = 0; step < steps; ++step) {
        const auto slots = assembly.train_slots();
        const auto first = group.rank() * (global_batch / run.parallel.data);
        for (std::size_t m = 0; m < slots.size(); ++m) {
            fill(slots[m], first + static_cast<std::int64_t>(m) * run.train.micro_batch, step);
        }
        assembly.step_inputs() =
            optim::make_step_inputs(run.optimizer, run.schedule, steps, step, step + 1, targets);
        assembly.trainer().run_step();
        outcome.losses.push_back(assembly.outcome().loss_sum / static_cast<double>(targets));
        if (step == 0) {
            assembly.trainer().finish();
            outcome.gradients = all_tensors(assembly, run, schedule::StateKind::gradients);
        }
    }
    assembly.trainer().finish();
    outcome.weights = all_tensors(assembly, run, schedule::StateKind::parameters);
    return outcome;
}

struct Values {
    const std::vector<float>& values;
};

void expect_class_b(const Outcome& ours, const Outcome& alone) {
    for (std::size_t step = 0; step < ours.losses.size(); ++step) {
        EXPECT_NEAR(ours.losses[step] / alone.losses[step], 1, 1e-5) << "step " << step;
    }
    std::map<std::string, Values> expected;
    test::SquaredGap all;
    for (const auto& [name, values] : alone.gradients) {
        expected.emplace(name, Values{values});
    }
    for (const auto& [name, gap] : test::gradient_gaps(ours.gradients, expected)) {
        EXPECT_LE(gap, 1e-5) << name;
    }
    for (const auto& [name, values] : alone.weights) {
        if (!test::is_key_bias(name)) {
            all += test::squared_gap(ours.weights.at(name), values);
        }
    }
    EXPECT_LE(all.relative(), 1e-4);
}

class DataAxis : public ::testing::TestWithParam<spec::Family> {};

TEST_P(DataAxis, TrainsAsOneRankDoes) {
    const int ranks = test::world().size();
    const comm::Communicator myself = test::world().split(test::world().rank());
    const auto alone = train_with(spec_of(GetParam(), {1, 6}), myself);

    const auto spread = train_with(spec_of(GetParam(), {ranks, global_batch / ranks}), test::world());
    const auto cut = train_with(spec_of(GetParam(), {ranks, 1}), test::world());
    const auto each =
        train_with(spec_of(GetParam(), {ranks, 1, spec::ReducePlan::each_microbatch}), test::world());

    expect_class_b(spread, alone);
    expect_class_b(cut, alone);
    expect_class_b(each, alone);
}

INSTANTIATE_TEST_SUITE_P(Families,
                         DataAxis,
                         ::testing::Values(spec::Family::gpt2, spec::Family::llama),
                         [](const auto& made) {
                             return made.param == spec::Family::gpt2 ? "Gpt2WithDropout" : "Llama";
                         });

}  // namespace
}  // namespace ziggurat::train
