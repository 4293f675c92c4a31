/// A step on a GPU launches exactly the kernels that plan::KernelTraffic lists.
#include <gtest/gtest.h>

#include <algorithm>

#include "layout/families/adapters.hpp"
#include "plan/gpu/kernel_traffic.hpp"
#include "schedule/build_program.hpp"
#include "tests/emulated_cuda/calls.hpp"
#include "tests/support/rank_test.hpp"
#include "tests/support/tiny_training.hpp"

namespace ziggurat {
namespace {

using Launches = std::map<std::string, std::int64_t>;

/// Returns `turn` for `void a::(anonymous namespace)::turn<float>(...)`; for map_packs, its function's
/// name.
std::string short_name(std::string symbol) {
    const std::string anonymous = "(anonymous namespace)::";
    for (auto at = symbol.find(anonymous); at != std::string::npos; at = symbol.find(anonymous)) {
        symbol.erase(at, anonymous.size());
    }
    const auto last_part = [](const std::string& text) {
        const auto end = text.substr(0, text.find_first_of("<(,>"));
        const auto colon = end.rfind(':');
        return colon == std::string::npos ? end : end.substr(colon + 1);
    };
    const auto name = last_part(symbol);
    return name == "map_packs" ? last_part(symbol.substr(symbol.find('<') + 1)) : name;
}

/// Returns the names in plans by function of kernels/cuda and of libraries; the first if several share
/// one.
const std::map<std::string, std::string>& kernels_by_function() {
    static const std::map<std::string, std::string> kernels{
        {"cublasLtMatmul", "product"},
        {"attend", "attention"},
        {"add_gradients", "attention"},
        {"multiply_glu", "glu_product"},
        {"attend_mma", "attention"},
        {"attention_query_gradients", "attention"},
        {"attention_key_gradients", "attention"},
        {"attention_query_gradients_mma", "attention"},
        {"attention_key_gradients_mma", "attention"},
        {"sum_output_products", "attention"},
        {"Rounded", "attention"},
        {"pack_keys", "pack_ring_keys"},
        {"join_gradients", "join_ring_gradients"},
        {"sum_parts", "row_sums"},
        {"add_through_part_sums", "row_sums_backward"},
        {"normalize_parts", "split_norm_forward"},
        {"part_gradients", "split_norm_backward"},
        {"normalize_rows", "norm forward"},
        {"add_norm_gradients", "norm backward"},
        {"normalize_heads", "head_norm_forward"},
        {"head_gradients", "head_norm_backward"},
        {"sum_squares", "square_sums"},
        {"add_through_sums", "square_sums_backward"},
        {"normalize_whole", "whole_norm_forward"},
        {"whole_gradients", "whole_norm_backward"},
        {"finish_sums", "sums of columns"},
        {"sum_rows", "column_sum"},
        {"move_columns", "columns moved"},
        {"sum_columns", "add_columns"},
        {"take_heads", "split_heads"},
        {"put_heads", "join_heads"},
        {"move_blocks", "exchange_blocks"},
        {"turn", "rope"},
        {"forward", "swiglu_forward"},
        {"backward", "swiglu_backward"},
        {"Gated", "gelu_forward"},
        {"Derived", "gelu_backward"},
        {"add_branch", "residual_forward"},
        {"drop", "dropout_backward"},
        {"look_up", "embedding look-up"},
        {"look_up_some", "embedding_tile_forward"},
        {"kept_rows", "cross_entropy"},
        {"scatter_rows", "embedding_backward"},
        {"Zero", "zeros"},
        {"Times", "scale"},
        {"Same", "convert"},
        {"Sum", "add_to"},
        {"whole_rows", "cross_entropy"},
        {"tile_of_rows", "cross_entropy_tile"},
        {"gradients_of_tile", "cross_entropy_tile_gradient"},
        {"losses_of", "losses_of_statistics"},
        {"merge_slices", "merge_statistics"},
        {"add_squares", "sum_of_squares"},
        {"move_carries_on", "sum_of_squares"},
        {"clear_results", "preference_weights"},
        {"weigh_pairs", "preference_weights"},
        {"update", "adamw_update"},
        {"average_packs", "average_weights"},
    };
    return kernels;
}

/// Returns the name by which a kernel of a plan is compared with functions.
std::string name_of_function(const std::string& kernel) {
    static const std::map<std::string, std::string> shared{
        {"layer_norm_forward", "norm forward"},     {"residual_layer_norm_forward", "norm forward"},
        {"rms_norm_forward", "norm forward"},       {"residual_rms_norm_forward", "norm forward"},
        {"layer_norm_backward", "norm backward"},   {"rms_norm_backward", "norm backward"},
        {"geglu_forward", "swiglu_forward"},        {"geglu_backward", "swiglu_backward"},
        {"gelu_erf_forward", "gelu_forward"},       {"gelu_erf_backward", "gelu_backward"},
        {"take_columns", "columns moved"},          {"put_columns", "columns moved"},
        {"embedding_forward", "embedding look-up"}, {"embedding_positions_forward", "embedding look-up"},
        {"embedding_backward zeros", "zeros"},      {"fill_zero", "zeros"},
    };
    const auto found = shared.find(kernel);
    return found == shared.end() ? kernel : found->second;
}

Launches launched_so_far() {
    Launches launches;
    for (const auto& [symbol, count] : emulated_cuda::launches_by_kernel()) {
        const auto found = kernels_by_function().find(short_name(symbol));
        launches[found == kernels_by_function().end() ? symbol : found->second] += count;
    }
    return launches;
}

/// Returns the launches of the second step.
Launches launched_in_a_step(spec::RunSpec run) {
    run.train.steps = 3;
    Launches before, after;
    test::TinyHooks hooks;
    hooks.after_step = [&](std::int64_t step) {
        (step == 1 ? before : after) = launched_so_far();
        return step < 2;
    };
    test::train_tiny(run, test::world(), test::Keep::nothing, {}, hooks);
    for (const auto& [kernel, count] : before) {
        after[kernel] -= count;
    }
    std::erase_if(after, [](const auto& kernel) { return kernel.second == 0; });
    return after;
}

Launches planned(const spec::RunSpec& run) {
    const schedule::ModelLayout model{run, test::world().rank()};
    const auto program = schedule::build_program(run, model, schedule::Variant::train);
    const plan::KernelTraffic traffic{run, model, program};
    Launches launches;
    for (const auto& op : program.ops) {
        for (const auto& use : traffic.of(op)) {
            launches[name_of_function(use.kernel)] += use.launches;
        }
    }
    return launches;
}

class KernelLaunches : public testing::TestWithParam<const char*> {
  protected:
    /// \param ranks  of the run; programs with other numbers of ranks skip the test
    void expect_planned(int ranks = 1) const {
        if (test::world().size() != ranks) {
            GTEST_SKIP() << "a test of other numbers of ranks";
        }
        const auto launches = launched_in_a_step(run);
        EXPECT_EQ(launches, planned(run));
        EXPECT_GT(launches.at("product"), 0);
    }

    spec::RunSpec run = test::tiny_run(GetParam(), test::world().size(), 2, 2);
};

TEST_P(KernelLaunches, OfAStepAreThoseOfThePlan) {
    expect_planned();
}

TEST_P(KernelLaunches, OnTensorCores) {
    run.precision.compute = spec::DType::bf16;
    run.model.dropout = 0;
    run.model.heads = run.model.kv_heads = 3;
    run.model.hidden = 48;
    run.model.head_dim = 16;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    run.data.reset_at_document = true;
    expect_planned();
}

TEST_P(KernelLaunches, ByCudnn) {
    run.precision.compute = spec::DType::bf16;
    run.model.dropout = 0;
    run.model.heads = run.model.kv_heads = 3;
    run.model.hidden = 48;
    run.model.head_dim = 16;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    run.data.seq = run.model.max_seq = 128;
    expect_planned();
}

TEST_P(KernelLaunches, WithGatedUnitsInProducts) {
    run.precision.compute = spec::DType::bf16;
    run.model.ffn_hidden = 40;
    run.model.hidden = 48;
    run.model.heads = run.model.kv_heads = 3;
    run.model.head_dim = 16;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    run.precision.products = spec::ProductChoice::fused;
    for (const auto recompute : {spec::RecomputeKind::none, spec::RecomputeKind::selective}) {
        run.recompute.kind = recompute;
        expect_planned();
    }
}

TEST_P(KernelLaunches, WithAdaptersAndWithRecomputation) {
    run.model.lora = {.rank = 3, .alpha = 5, .targets = {"attention.q", "attention.v", "mlp.up"}};
    run.train.only = layout::patterns_of_adapters();
    run.recompute.kind = spec::RecomputeKind::full;
    expect_planned();
}

TEST_P(KernelLaunches, InTiles) {
    run.model.vocab = 2500;
    run.model.vocab_padded = 2512;
    run.tiers.tiles = {{.match = "*", .in = 1, .out = 3}};
    expect_planned();
    run.model.lora = {.rank = 3, .alpha = 5, .targets = {"attention.q", "attention.v", "mlp.up"}};
    run.train.only = layout::patterns_of_adapters();
    expect_planned();
}

class KernelLaunchesOfAxes : public KernelLaunches {};

TEST_P(KernelLaunchesOfAxes, InRoundsOfARing) {
    run = test::tiny_run(GetParam(), 1, 2, 2);
    run.model.max_seq = run.data.seq = 12;
    run.parallel.context = run.parallel.data = run.parallel.ranks = run.parallel.ranks_per_node = 2;
    run.parallel.context_kind = spec::ContextKind::ring;
    expect_planned(2);
    run.precision.compute = spec::DType::bf16;
    run.model.dropout = 0;
    run.model.head_dim = 8;
    run.model.heads = run.model.kv_heads = 3;
    run.model.hidden = 24;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 0.5 : 1;
    expect_planned(2);
}

TEST_P(KernelLaunchesOfAxes, OnAGrid) {
    run = test::tiny_run(GetParam(), 1, 2, 2);
    run.model.heads = run.model.kv_heads = 4;
    run.model.hidden = 24;
    run.parallel.tensor = run.parallel.tensor_rows = 2;
    run.parallel.ranks = run.parallel.ranks_per_node = 4;
    run.train.global_batch *= 2;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 4.0 / 6 : 1;
    expect_planned(4);
}

TEST_P(KernelLaunchesOfAxes, OnACube) {
    run = test::tiny_run(GetParam(), 4, 2, 2);
    run.model.heads = run.model.kv_heads = 4;
    run.model.hidden = 24;
    run.parallel.tensor = run.parallel.tensor_rows = run.parallel.tensor_depth = 2;
    run.parallel.tensor_mode = spec::TensorMode::three_d;
    run.parallel.data = run.sharding.sum_group = 2;
    run.sharding.parameters = run.sharding.gradients = run.sharding.optimizer = 2;
    run.parallel.ranks = run.parallel.ranks_per_node = 8;
    run.model.rotary_fraction = run.model.rotary_fraction < 1 ? 4.0 / 6 : 1;
    expect_planned(8);
}

INSTANTIATE_TEST_SUITE_P(
    Families,
    KernelLaunches,
    testing::Values("gpt2", "llama", "gpt_neox", "granite", "gemma2", "gemma3", "olmo2"));
INSTANTIATE_TEST_SUITE_P(Families, KernelLaunchesOfAxes, testing::Values("gpt2", "llama"));

}  // namespace
}  // namespace ziggurat
