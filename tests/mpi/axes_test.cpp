/// Class B of the model axes: tensor and pipeline degrees against one rank with the whole work.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/support/class_b.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

using test::Keep;
using test::TinyOutcome;

/// Degrees of the axes.
struct Layout {
    int tensor = 1;
    int stages = 1;
    int data = 1;

    int ranks() const { return tensor * stages * data; }
};

/// Returns the number of key-value heads if the family has grouped queries.
///
/// For four and six tensor ranks, two ranks share each head.
std::int64_t shared_key_heads(int tensor) {
    return tensor == 4 ? 2 : tensor == 6 ? 3 : 6;
}

/// Returns a run of five layers with twelve heads: divisible by 2, 3, 4 and 6, and not powers of two.
spec::RunSpec run_of(const std::string& family,
                     const Layout& layout,
                     std::int64_t key_heads,
                     std::int64_t samples,
                     std::int64_t micro) {
    auto run = test::tiny_run(family, layout.data, micro, samples / micro / layout.data);
    run.model.layers = 5;
    run.model.hidden = 48;
    run.model.heads = 12;
    run.model.kv_heads = run.model.kv_heads < 6 ? key_heads : 12;
    run.model.head_dim = 4;
    run.model.ffn_hidden = 60;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    run.parallel.tensor = layout.tensor;
    run.parallel.stages = layout.stages;
    run.parallel.ranks = run.parallel.ranks_per_node = layout.ranks();
    run.train.steps = 8;
    return run;
}

TinyOutcome train(const spec::RunSpec& run, const comm::Context& group) {
    return test::train_tiny(run, group, Keep::tensors);
}

class Axes : public ::testing::TestWithParam<std::string> {};

TEST_P(Axes, TrainAsOneRankDoes) {
    const int ranks = test::world().size();
    const comm::Communicator myself = test::world().group().split(test::world().rank());
    constexpr std::int64_t samples = 12;
    std::map<std::int64_t, TinyOutcome> alone;  // by number of key-value heads

    for (const auto& layout :
         {Layout{.tensor = 2}, Layout{.tensor = 3}, Layout{.tensor = 4}, Layout{.tensor = 6},
          Layout{.stages = 2}, Layout{.stages = 3}, Layout{.stages = 5}, Layout{.tensor = 2, .stages = 2},
          Layout{.tensor = 2, .data = 2}, Layout{.stages = 2, .data = 2}, Layout{.tensor = 2, .stages = 3},
          Layout{.tensor = 3, .data = 2}}) {
        if (layout.ranks() == ranks) {
            SCOPED_TRACE("tensor " + std::to_string(layout.tensor) + ", stages " +
                         std::to_string(layout.stages) + ", data " + std::to_string(layout.data));
            const auto key_heads = shared_key_heads(layout.tensor);
            if (!alone.contains(key_heads)) {
                alone[key_heads] =
                    train(run_of(GetParam(), {}, key_heads, samples, 4), test::world().in(myself));
            }
            test::expect_class_b(train(run_of(GetParam(), layout, key_heads, samples, 2), test::world()),
                                 alone[key_heads]);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Families,
    Axes,
    ::testing::Values("gpt2", "llama", "gpt_neox", "qwen3", "granite", "gemma2", "gemma3", "olmo2"),
    [](const auto& made) { return made.param; });

}  // namespace
}  // namespace ziggurat::train
