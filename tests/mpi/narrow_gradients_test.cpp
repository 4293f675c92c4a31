/// Sums of gradients in bf16 against sums in fp32, for the largest difference.
///
/// The gradient is the same in every micro-batch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "spec/narrow_sums.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat::train {
namespace {

/// Returns the norm of the first step's gradient.
double norm_of(const spec::RunSpec& run) {
    Assembly assembly{run, build_programs(run, test::world().rank()), test::world(),
                      test::processors_for_tests(run.parallel.threads)};
    const auto seq = static_cast<std::size_t>(run.data.seq);
    for (const auto& slot : assembly.train_slots()) {
        for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
            const auto position = static_cast<std::int32_t>(i % seq);
            slot.tokens[i] = position * position % static_cast<std::int32_t>(run.model.vocab);
            slot.targets[i] = (position + 1) * (position + 1) % static_cast<std::int32_t>(run.model.vocab);
            slot.positions[i] = position;
            slot.document_starts[i] = 0;
            slot.mask[i] = 1;
        }
        std::ranges::fill(slot.samples, 0);
    }
    assembly.step_inputs() =
        optim::make_step_inputs(run.optimizer, {}, optim::learning_rate(run.schedule, run.optimizer.lr, 1, 0),
                                0, 1, run.train.global_batch * run.data.seq);
    assembly.train_executor().run_step();
    assembly.train_executor().finish();
    return assembly.outcome().grad_norm;
}

double relative_error(const std::string& family, std::int64_t micro_batches) {
    auto run = test::tiny_run(family, test::world().size(), 1, micro_batches);
    run.model.dropout = 0;
    const double in_full = norm_of(run);
    run.precision.gradient = spec::DType::bf16;
    return std::abs(norm_of(run) / in_full - 1);
}

TEST(NarrowGradients, KeepTheirNormUpToTheGreatestCountThatDecksMayHave) {
    constexpr auto max = spec::max_added_in_bf16;
    for (const char* family : {"llama", "gpt2", "gpt_neox"}) {
        for (const auto count : {max, max - 1, max * 3 / 4, max / 2}) {
            EXPECT_LT(relative_error(family, count), 0.01) << family << ", " << count;
        }
    }
}

TEST(NarrowGradients, LoseItFarBeyond) {
    EXPECT_GT(relative_error("llama", 8 * spec::max_added_in_bf16), 0.05);
}

}  // namespace
}  // namespace ziggurat::train
