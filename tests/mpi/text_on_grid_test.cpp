/// Texts that a grid or a cube of tensor ranks generates during training, against those of one rank.
#include <gtest/gtest.h>

#include <string>

#include "data/tokenizer/text_tokenizer.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"
#include "train/generate/text_generator.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {
namespace {

std::string text_of(const spec::RunSpec& run, const comm::Context& group) {
    const auto tokenizer = data::open_tokenizer(spec::Tokenizer{});
    std::string text;
    test::TinyHooks hooks;
    hooks.begin = [&](Assembly& assembly) {
        text = generate_text(run, assembly, *tokenizer, *run.validate.sample,
                             encode_prompt(*tokenizer, run.data.add_bos, run.validate.sample->prompt), 0)
                   ->text;
        return run.train.steps;
    };
    test::train_tiny(run, group, test::Keep::nothing, {}, hooks);
    return text;
}

class TextOnGrid : public ::testing::TestWithParam<std::string> {};

// Four ranks are a grid, eight a cube.
TEST_P(TextOnGrid, IsThatOfOneRank) {
    const auto& world = test::world();
    const bool is_cube = world.size() == 8;
    auto run = test::tiny_run(GetParam(), 1, 1, 4);
    run.model.vocab = run.model.vocab_padded = 256;
    run.data.seq = run.model.max_seq = 40;
    run.validate.sample = spec::Sample{.prompt = "beginning", .tokens = 20, .temperature = 0};
    const comm::Communicator myself = world.group().split(world.rank());
    const auto expected = text_of(run, world.in(myself));

    auto& parallel = run.parallel;
    parallel.ranks = parallel.ranks_per_node = world.size();
    parallel.tensor = parallel.tensor_rows = 2;
    parallel.data = parallel.tensor_depth = run.sharding.sum_group = is_cube ? 2 : 1;
    parallel.tensor_mode = is_cube ? spec::TensorMode::three_d : spec::TensorMode::two_d;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = parallel.data;
    run.train.micro_batches = run.train.global_batch / parallel.sequence_groups();

    EXPECT_EQ(text_of(run, world), expected);
    EXPECT_EQ(expected.size(), 20U);
}

INSTANTIATE_TEST_SUITE_P(Families, TextOnGrid, ::testing::Values("gpt2", "llama"));

}  // namespace
}  // namespace ziggurat::train
