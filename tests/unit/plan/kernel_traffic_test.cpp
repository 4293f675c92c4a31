#include "plan/gpu/kernel_traffic.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "plan/gpu/kernel_table.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Direction;
using schedule::Variant;

/// Returns one micro-batch of one layer on one GPU, in bfloat16.
spec::RunSpec on_gpu(const std::string& family) {
    auto spec = test::small_spec(family);
    spec.tiers.device = spec::DeviceKind::cuda;
    spec.precision.compute = spec::DType::bf16;
    spec.train.micro_batches = 1;
    spec.train.global_batch = spec.train.micro_batch;
    return spec;
}

spec::RunSpec gpt2_124m() {
    auto spec = on_gpu("gpt2");
    spec.model.hidden = 768;
    spec.model.heads = spec.model.kv_heads = 12;
    spec.model.head_dim = 64;
    spec.model.ffn_hidden = 3072;
    spec.data.seq = spec.model.max_seq = 1024;
    spec.train.micro_batch = spec.train.global_batch = 8;
    return spec;
}

spec::RunSpec llama_8b() {
    auto spec = on_gpu("llama");
    spec.model.hidden = 4096;
    spec.model.heads = 32;
    spec.model.kv_heads = 8;
    spec.model.head_dim = 128;
    spec.model.ffn_hidden = 14336;
    spec.data.seq = spec.model.max_seq = 4096;
    spec.train.micro_batch = spec.train.global_batch = 2;
    return spec;
}

struct Moved {
    std::int64_t launches = 0;
    std::int64_t bytes = 0;

    bool operator==(const Moved&) const = default;
};

/// Returns the kernels of layer 0 in one pass, by name.
std::map<std::string, Moved> layer(const spec::RunSpec& spec,
                                   bool is_forward,
                                   FusedProducts fused_products = FusedProducts::as_run) {
    const schedule::ModelLayout model{spec, 0};
    const auto program = schedule::build_program(spec, model, Variant::train);
    const KernelTraffic traffic{spec, model, program, true, fused_products};
    std::map<std::string, Moved> kernels;
    for (const auto& op : program.ops) {
        if (op.unit != 1 || op.microbatch != 0 || (op.direction == Direction::forward) != is_forward) {
            continue;
        }
        for (const auto& use : traffic.of(op)) {
            kernels[use.kernel].launches += use.launches;
            kernels[use.kernel].bytes += use.bytes;
        }
    }
    return kernels;
}

std::int64_t activation(const spec::RunSpec& spec) {
    return spec.train.micro_batch * spec.data.seq * spec.model.hidden * 2;
}

TEST(KernelTraffic, OfALayerOfGpt2Is21ActivationsForProductsComputeGeluAndSums) {
    const auto spec = gpt2_124m();
    const auto a = activation(spec);
    const std::int64_t of_rows = 8 * 1024 * 2 * 4;  // mean and inverse deviation of each row, in float
    const std::int64_t parameters = 2 * 768 * 2;    // gain and bias
    const std::map<std::string, Moved> forward{
        {"layer_norm_forward", {2, 2 * (2 * a + parameters + of_rows)}},
        {"product", {4, 0}},
        {"attention", {1, 0}}};
    EXPECT_EQ(layer(spec, true), forward);
    const std::map<std::string, Moved> backward{
        {"layer_norm_backward", {2, 2 * (4 * a + 768 * 2 + of_rows)}},  // with the gain only
        {"column_sum", {4, 9 * a}},
        {"sums of columns", {4 + 2, (9 * 768 + 2 * 2 * 768) * 4}},  // biases; gains and biases of norms
        {"product", {8, 0}},
        {"attention", {1, 0}}};
    EXPECT_EQ(layer(spec, false), backward);
}

TEST(KernelTraffic, ProductsWithTheGradientOfSwigluMove17Or21ActivationsLess) {
    auto fused = llama_8b(), measured = fused;
    const auto a = activation(fused);
    fused.precision.products = spec::ProductChoice::fused;
    measured.precision.products = spec::ProductChoice::measured;
    for (const bool is_selective : {false, true}) {
        fused.recompute.kind = measured.recompute.kind =
            is_selective ? spec::RecomputeKind::selective : spec::RecomputeKind::none;
        auto expected = layer(measured, false);
        EXPECT_EQ(expected.at("swiglu_backward"), (Moved{1, is_selective ? 21 * a : 35 * a / 2}));
        EXPECT_EQ(layer(fused, false, FusedProducts::separate), expected)
            << "no GPU has timed the fused product";
        expected.erase("swiglu_backward");
        --expected["product"].launches;
        expected["glu_product"] = {1, 0};
        EXPECT_EQ(layer(fused, false), expected);
        EXPECT_EQ(layer(fused, true), layer(measured, true));
    }
    fused.model.ffn_hidden = 14332;
    EXPECT_EQ(layer(fused, false).count("glu_product"), 0U) << "no multiple of 8";
}

TEST(KernelTraffic, GeluInItsExactFormMoves20ActivationsMore) {
    auto spec = gpt2_124m();
    spec.model.family = "gpt_neox";
    const auto a = activation(spec);
    EXPECT_EQ(layer(spec, true).at("gelu_erf_forward"), (Moved{1, 8 * a}));
    EXPECT_EQ(layer(spec, false).at("gelu_erf_backward"), (Moved{1, 12 * a})) << "in place";
}

TEST(KernelTraffic, GeluIsAKernelWhereTheLibraryDoesNotTakeTheWidth) {
    auto spec = gpt2_124m();
    spec.model.ffn_hidden = 3076;
    const auto value = spec.train.micro_batch * spec.data.seq * spec.model.ffn_hidden * 2;
    EXPECT_EQ(layer(spec, true).at("gelu_forward"), (Moved{1, 2 * value}));
    EXPECT_EQ(layer(spec, false).at("gelu_backward"), (Moved{1, 3 * value}));
}

TEST(KernelTraffic, OfALayerOfLlama8BIs45Activations) {
    const auto spec = llama_8b();
    const auto a = activation(spec);
    const std::int64_t rows = 2 * 4096;
    const std::int64_t gain = 4096 * 2;
    const std::int64_t angles = rows * 4 + 4096 * 64 * 2 * 4;  // positions; a sine and a cosine of each pair
    const std::map<std::string, Moved> forward{{"rms_norm_forward", {2, 2 * (2 * a + gain + rows * 4)}},
                                               {"rope", {1, 5 * a / 2 + angles}},
                                               {"swiglu_forward", {1, 21 * a / 2}},
                                               {"product", {4, 0}},
                                               {"attention", {1, 0}}};
    EXPECT_EQ(layer(spec, true), forward);
    const std::map<std::string, Moved> backward{{"swiglu_backward", {1, 35 * a / 2}},
                                                {"rms_norm_backward", {2, 2 * (4 * a + gain + rows * 4)}},
                                                {"sums of columns", {2, 2 * 4096 * 4}},
                                                {"rope", {1, 5 * a / 2 + angles}},
                                                {"product", {8, 0}},
                                                {"attention", {2, 0}}};  // cuDNN gets pieces of one sequence
    EXPECT_EQ(layer(spec, false), backward);
}

/// Backward of SwiGLU also writes the output of forward, so that needs no kernel of its own.
TEST(KernelTraffic, RecomputationOfSwigluAddsOneWrite) {
    auto spec = llama_8b();
    const auto a = activation(spec);
    for (const auto kind : {spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
        spec.recompute.kind = kind;
        const auto backward = layer(spec, false);
        EXPECT_EQ(backward.at("swiglu_backward"), (Moved{1, 35 * a / 2 + 7 * a / 2}));
        EXPECT_EQ(backward.count("swiglu_forward"), 0U);
    }
}

TEST(KernelTraffic, NormsOfHeadsReadAndWriteThem) {
    auto spec = llama_8b();
    spec.model.family = "qwen3";
    const std::int64_t qkv = 2 * 4096 * (32 + 2 * 8) * 128 * 2;
    const std::int64_t gains = 2 * 128 * 2;
    EXPECT_EQ(layer(spec, true).at("head_norm_forward"), (Moved{1, 2 * qkv + gains}));
    EXPECT_EQ(layer(spec, false).at("head_norm_backward"), (Moved{1, 3 * qkv / 48 * 40 + gains}))
        << "without the heads of values";
    EXPECT_EQ(layer(spec, false).at("sums of columns"), (Moved{3, 2 * 4096 * 4 + 2 * 128 * 4}));
}

TEST(KernelTraffic, NormsOfAllHeadsReadThemTwice) {
    auto spec = llama_8b();
    spec.model.family = "olmo2";
    const auto a = activation(spec);
    const std::int64_t rows = 2 * 4096;
    const std::int64_t head = rows * 128 * 2;
    const std::int64_t qkv = (32 + 2 * 8) * head, qk = (32 + 8) * head;
    const std::int64_t sums = rows * 2 * 4, gains = (32 + 8) * 128 * 2;
    const auto forward = layer(spec, true), backward = layer(spec, false);
    EXPECT_EQ(forward.at("square_sums"), (Moved{1, qk + sums}));
    EXPECT_EQ(forward.at("whole_norm_forward"), (Moved{1, 2 * qkv + gains + sums}));
    EXPECT_EQ(backward.at("whole_norm_backward"), (Moved{1, 3 * qk + gains + 2 * sums}));
    EXPECT_EQ(backward.at("square_sums_backward"), (Moved{1, 3 * qk + sums}));
    EXPECT_EQ(backward.at("sums of columns"), (Moved{3, 2 * 4096 * 4 + (32 + 8) * 128 * 4}));

    EXPECT_EQ(forward.at("rms_norm_forward"), (Moved{2, 2 * (2 * a + 4096 * 2 + rows * 4)}));
    EXPECT_EQ(backward.at("rms_norm_backward"), (Moved{2, 2 * (3 * a + 4096 * 2 + rows * 4)}))
        << "written, not added";
    EXPECT_EQ(backward.at("residual_forward"), (Moved{2, 2 * 3 * a})) << "sums of gradients";
}

TEST(KernelTraffic, DropoutMovesTheGradientOfEachBranchOnceMore) {
    auto spec = gpt2_124m();
    spec.model.dropout = 0.1;
    const auto dropped = layer(spec, false).at("dropout_backward");
    EXPECT_EQ(dropped.launches, 2);
    EXPECT_GE(dropped.bytes, 2 * 2 * activation(spec));
    EXPECT_LT(dropped.bytes, 2 * 2 * activation(spec) + 4096) << "and what draws the numbers";
    EXPECT_EQ(layer(spec, true).at("attention").launches, 1);
    EXPECT_EQ(layer(spec, false).at("attention").launches, 2) << "kernels without tensor cores";
}

TEST(KernelTraffic, KernelsOfTheHostAreNone) {
    auto spec = gpt2_124m();
    spec.tiers.optimizer = {.device = 0, .host = 1, .nvme = 0};
    const schedule::ModelLayout model{spec, 0};
    const auto program = schedule::build_program(spec, model, Variant::train);
    const KernelTraffic traffic{spec, model, program};
    int updates = 0;
    for (const auto& op : program.ops) {
        if (op.kind == schedule::OpKind::update) {
            ++updates;
            EXPECT_TRUE(traffic.of(op).empty()) << op.label;
        }
    }
    EXPECT_GT(updates, 0);
}

TEST(KernelTable, HasTheLayersOfAMicroBatchAndTheOptimizerOfAStep) {
    auto spec = gpt2_124m();
    spec.model.layers = 3;
    spec.train.micro_batches = 2;
    spec.train.global_batch *= 2;
    const schedule::ModelLayout model{spec, 0};
    const auto program = schedule::build_program(spec, model, Variant::train);

    const auto table = kernel_table(spec, model, program);

    EXPECT_EQ(table.activation_bytes, activation(spec));
    ASSERT_EQ(table.units.size(), 5u);
    EXPECT_EQ(table.units[1].unit, "layers.0");
    const auto forward = layer(spec, true);
    std::int64_t launches = 0;
    for (const auto& [kernel, moved] : forward) {
        launches += moved.launches;
    }
    EXPECT_EQ(table.units[1].forward.launches, launches);
    EXPECT_GT(table.optimizer.launches, 0);
    std::int64_t of_units = 0;
    for (const auto& unit : table.units) {
        of_units += unit.launches();
    }
    EXPECT_GE(table.step.launches, 2 * of_units + table.optimizer.launches - 10);
    EXPECT_LE(table.step.launches, 2 * of_units + table.optimizer.launches + 10)
        << "tables of the embedding are zeroed once, sums once";
    const auto text = print_kernel_table(table);
    EXPECT_NE(text.find("layers.0 to layers.2, each"), std::string::npos) << text;
    EXPECT_NE(text.find("21.0"), std::string::npos) << text;
    const auto json = kernel_table_as_json(table);
    EXPECT_NE(json.find(R"({"unit":"layers.2","forward":{"launches":7,"moved_B":)"), std::string::npos)
        << json;
}

}  // namespace
}  // namespace ziggurat::plan
