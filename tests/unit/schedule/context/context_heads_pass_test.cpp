#include "schedule/context/context_heads_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "layout/context/context_heads.hpp"
#include "layout/families/adapters.hpp"
#include "schedule/build_program.hpp"
#include "schedule/volumes/context_volumes.hpp"
#include "schedule/volumes/volumes.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec exchanging(const std::string& family, int context, std::int64_t micro_batch) {
    auto spec = test::small_spec(family);
    spec.parallel = {};
    spec.parallel.context_kind = spec::ContextKind::ulysses;
    spec.parallel.ranks = spec.parallel.data = spec.parallel.context = context;
    spec.sharding.sum_group = context;
    spec.model.heads = 12;
    spec.model.kv_heads = family == "llama" ? 2 : 12;
    spec.model.head_dim = 4;
    spec.model.hidden = 48;
    spec.data.seq = 12;
    spec.model.max_seq = 12;
    spec.train.micro_batch = micro_batch;
    spec.train.global_batch = micro_batch * spec.train.micro_batches;
    return spec;
}

std::int64_t exchanged_bytes(const Program& program) {
    return bytes_sent_by_purpose(program)[Purpose::context];
}

TEST(ContextHeads, SendsFourExchangesOfALayerAndMicroBatch) {
    const auto spec = exchanging("gpt2", 3, 2);
    const auto program = build_program(spec, 1, Variant::train);

    // Queries, keys, values and the output, forward and backward: 8 N h (1 - 1/c) elements.
    const auto tokens = 2 * 12 / 3;
    const auto expected = spec.model.layers * spec.train.micro_batches * 8 * tokens * 48 * 2 / 3 *
                          spec::element_bytes(spec.precision.compute);
    EXPECT_EQ(exchanged_bytes(program), expected);
}

TEST(ContextHeads, SharesKeyHeadsOfWhichThereAreTooFew) {
    auto spec = exchanging("llama", 4, 1);
    const auto before = context_bytes_by_formula(spec, ModelLayout{spec, 0}).total();
    spec.model.kv_heads = 4;
    EXPECT_EQ(context_bytes_by_formula(spec, ModelLayout{spec, 0}).total(), before)
        << "each rank has one in both";
    spec.model.kv_heads = 12;
    EXPECT_GT(context_bytes_by_formula(spec, ModelLayout{spec, 0}).total(), before);
}

// With a parallel residual stream, the MLP does not read attention's output, and a frozen projection does not
// need it in backward.
TEST(ContextHeads, ReturnsTheOutputAgainOnlyIfAnotherPhaseNeedsIt) {
    for (const char* target : {"mlp.*", "attention.out"}) {
        auto spec = exchanging("gpt_neox", 2, 1);
        spec.model.layers = 2;
        spec.model.lora = {.rank = 1, .targets = {target}};
        spec.train.only = layout::patterns_of_adapters();
        const auto without = exchanged_bytes(build_program(spec, 0, Variant::train));
        spec.recompute.kind = spec::RecomputeKind::full;
        const auto again = exchanged_bytes(build_program(spec, 0, Variant::train));
        EXPECT_EQ(again, context_bytes_by_formula(spec, ModelLayout{spec, 0}).total()) << target;
        // An exchange of the output has N h (1 - 1/c) elements.
        const auto tokens = 12 / 2;
        const auto output =
            spec.train.micro_batches * tokens * 48 / 2 * spec::element_bytes(spec.precision.compute);
        const bool is_of_mlp = std::string{target} == "mlp.*";
        EXPECT_EQ(again - without, (is_of_mlp ? 1 * 3 : 2 * 4) * output)
            << "queries, keys and values of layers whose attention runs backward, and the output: " << target;
    }
}

TEST(ContextHeads, AreTheBytesOfTheFormulaInRandomRuns) {
    int exchanging_runs = 0;
    const auto count = test::count_from_environment("ZIGGURAT_SPECS", 300);
    for (std::int64_t seed = 1; seed <= count; ++seed) {
        const auto spec = test::random_spec(static_cast<std::uint64_t>(seed));
        if (!layout::exchanges_heads(spec.parallel)) {
            continue;
        }
        ++exchanging_runs;
        for (const int rank : {0, spec.parallel.ranks - 1}) {
            const ModelLayout model{spec, rank};
            EXPECT_EQ(exchanged_bytes(build_program(spec, rank, Variant::train)),
                      context_bytes_by_formula(spec, model).total())
                << test::described(spec) << ", seed " << seed << ", rank " << rank;
        }
    }
    EXPECT_GT(exchanging_runs, count / 20);
}

TEST(ContextHeads, CopiesNothingTwiceForOneSequence) {
    const auto moved = [](std::int64_t micro_batch) {
        const auto spec = exchanging("gpt2", 2, micro_batch);
        const auto program = build_program(spec, 0, Variant::train);
        return std::ranges::count_if(program.ops, [&](const Op& op) {
            return program.find_read(op, Role::rows_by_rank) != nullptr ||
                   program.find_write(op, Role::rows_by_rank) != nullptr;
        });
    };
    EXPECT_EQ(moved(1), 0);
    EXPECT_GT(moved(2), 0);
}

TEST(ContextHeads, SavesAPartOfEveryActivation) {
    const auto saved = [](int context) {
        auto spec = exchanging("gpt2", context, 1);
        spec.data.seq = spec.model.max_seq = 48;
        const auto program = build_placed(spec, ModelLayout{spec, 0}, Variant::train);
        std::int64_t bytes = 0;
        for (const auto& buffer : program.buffers) {
            bytes += buffer.consumer == MemoryCategory::activations ? buffer.bytes : 0;
        }
        return bytes;
    };
    // Attention's output is saved in two forms: for its own backward, and for the next product's.
    const auto of_output = 3 * 48 * 48 * 4;
    EXPECT_LE(saved(4), saved(1) / 4 + of_output);
    EXPECT_GE(saved(4), saved(1) / 4);
}

TEST(ContextHeads, EndsUnderEveryOrderOfLanes) {
    for (const int context : {2, 3, 4}) {
        const auto spec = exchanging(context == 3 ? "gpt2" : "llama", context, context == 4 ? 1 : 2);
        const ExpectedResults truth{spec};
        const auto programs = test::programs_of_all_ranks(spec);
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            EXPECT_EQ(simulate(programs, &truth, {.seed = seed}).report(), "") << context << " ranks";
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
