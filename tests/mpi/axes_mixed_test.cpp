/// Class B of the model axes with sharding, on up to twelve ranks, against one rank with the whole
/// work.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/control.hpp"
#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using spec::PipelineSchedule;
using test::Keep;
using test::TinyOutcome;

/// Divisible by all layouts.
constexpr std::int64_t global_batch = 12;

/// Degrees of the axes, and the state that data ranks shard: ZeRO `zero`.
struct Layout {
    int data = 1;
    int tensor = 1;
    int stages = 1;
    int zero = 0;
    PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
    bool has_sequence = false;

    int ranks() const { return data * tensor * stages; }
    std::string text() const {
        return "data " + std::to_string(data) + ", tensor " + std::to_string(tensor) + ", stages " +
               std::to_string(stages) + ", zero " + std::to_string(zero) + ", schedule " +
               std::to_string(static_cast<int>(schedule)) + (has_sequence ? ", sequence" : "");
    }
};

std::vector<Layout> mixed_layouts() {
    constexpr auto gpipe = PipelineSchedule::gpipe;
    constexpr auto interleaved = PipelineSchedule::interleaved;
    return {
        {.data = 3, .tensor = 2, .stages = 2, .zero = 2},
        {.data = 3, .tensor = 2, .stages = 2, .zero = 3, .schedule = interleaved, .has_sequence = true},
        {.data = 2, .tensor = 3, .stages = 2, .zero = 1, .schedule = gpipe},
        {.data = 2, .tensor = 2, .stages = 3, .zero = 3},
        {.data = 2, .tensor = 2, .stages = 2, .zero = 2, .schedule = interleaved},
        {.data = 2, .tensor = 2, .stages = 2, .zero = 3, .has_sequence = true},
        {.tensor = 6, .stages = 2},
        {.tensor = 4, .stages = 3, .schedule = interleaved, .has_sequence = true},
        {.data = 6, .stages = 2, .zero = 3},
        {.data = 4, .stages = 3, .zero = 1, .schedule = interleaved},
        {.data = 4, .tensor = 3, .zero = 3, .has_sequence = true},
        {.data = 2, .tensor = 6, .zero = 2},
    };
}

/// Returns a run whose sizes 2, 3, 4 and 6 tensor ranks divide, and with layers for three stages of two
/// chunks.
///
/// It has too few key-value heads for four of them.
spec::RunSpec run_of(const std::string& family, const Layout& layout, std::int64_t micro) {
    auto run = test::tiny_run(family, layout.data, micro, global_batch / layout.data / micro);
    run.model.layers = 7;
    run.model.hidden = 48;
    run.model.heads = 12;
    run.model.head_dim = 4;
    run.model.kv_heads = family == "llama" ? (layout.tensor % 3 == 0 ? 3 : 2) : 12;
    run.model.ffn_hidden = 60;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    run.data.seq = 12;
    run.parallel.tensor = layout.tensor;
    run.parallel.sequence = layout.has_sequence;
    run.parallel.stages = layout.stages;
    run.parallel.pipeline_schedule = layout.schedule;
    run.parallel.chunks_per_stage = layout.schedule == PipelineSchedule::interleaved ? 2 : 1;
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    run.sharding.optimizer = layout.zero >= 1 ? layout.data : 1;
    run.sharding.gradients = layout.zero >= 2 ? layout.data : 1;
    run.sharding.parameters = layout.zero >= 3 ? layout.data : 1;
    run.train.steps = 4;
    return run;
}

class AxesMixed : public ::testing::TestWithParam<std::string> {};

/// Layouts with fewer ranks train on the first ranks.
TEST_P(AxesMixed, TrainAsOneRankDoes) {
    const auto& world = test::world();
    const auto myself = world.group().split(world.rank());
    std::map<std::int64_t, TinyOutcome> alone;  // by number of key-value heads
    for (const auto& layout : mixed_layouts()) {
        SCOPED_TRACE(layout.text());
        const auto is_used = world.rank() < layout.ranks();
        const auto group = world.group().split(is_used ? 0 : 1);
        if (is_used) {
            const auto run = run_of(GetParam(), layout, 1);
            const auto ours = test::train_tiny(run, world.in(group), Keep::tensors);
            if (world.rank() == 0) {
                auto& expected = alone[run.model.kv_heads];
                if (expected.losses.empty()) {
                    auto one = run_of(GetParam(), {}, 4);
                    one.model.kv_heads = run.model.kv_heads;
                    expected = test::train_tiny(one, world.in(myself), Keep::tensors);
                }
                test::expect_class_b(ours, expected);
            }
        }
        comm::barrier(world);
    }
}

INSTANTIATE_TEST_SUITE_P(Families, AxesMixed, ::testing::Values("gpt2", "llama"), [](const auto& made) {
    return made.param;
});

}  // namespace
}  // namespace ziggurat::train
