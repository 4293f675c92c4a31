#include "schedule/rows/sequence_tiles_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "layout/families/family.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec in_tiles(int tiles, spec::RecomputeKind recompute, const std::string& family = "llama") {
    auto spec = test::small_spec(family);
    spec.train.micro_batches = 2;
    spec.recompute.kind = recompute;
    spec.tiers.sequence_tiles = tiles;
    return spec;
}

bool is_tile(const Op& op) {
    return op.label.find(", tile ") != std::string::npos;
}

std::vector<Op> ops_of(const Program& program, UnitId unit, const std::string& phase, Direction direction) {
    auto model = test::small_spec("llama").model;
    model.layers = program.layers;
    const auto table = layout::family_table(model, {});
    std::vector<Op> found;
    for (const auto& op : program.ops) {
        if (op.unit == unit && op.phase >= 0 && op.microbatch == 0 && op.direction == direction &&
            op.kind == OpKind::compute && table.units[unit].phases[op.phase].name == phase) {
            found.push_back(op);
        }
    }
    return found;
}

/// Returns the bytes of the largest buffer that an op writes for `role`.
std::int64_t written(const Program& program, const std::vector<Op>& ops, Role role) {
    std::int64_t most = 0;
    for (const auto& op : ops) {
        if (const auto* operand = program.find_write(op, role)) {
            most = std::max(most, program.buffers[operand->buffer].bytes);
        }
    }
    return most;
}

TEST(SequenceTiles, CoverAllRowsInOrder) {
    const auto program = build_program(in_tiles(3, spec::RecomputeKind::full), 0, Variant::train);
    for (const auto direction : {Direction::forward, Direction::backward_input, Direction::backward_weight}) {
        const auto ops = ops_of(program, 1, "mlp_out", direction);
        ASSERT_EQ(ops.size(), 3u);
        std::int64_t next = 0;
        for (const auto& op : ops) {
            EXPECT_TRUE(is_tile(op));
            EXPECT_EQ(op.row_begin, next);
            next = op.row_end;
        }
        EXPECT_EQ(next, 2 * 16);
    }
}

TEST(SequenceTiles, ValuesBetweenTheProductsHaveTheRowsOfOneTile) {
    const auto whole = build_program(in_tiles(1, spec::RecomputeKind::full), 0, Variant::train);
    const auto tiled = build_program(in_tiles(4, spec::RecomputeKind::full), 0, Variant::train);
    for (const auto direction : {Direction::forward, Direction::recompute}) {
        const auto before = written(whole, ops_of(whole, 1, "mlp_in", direction), Role::output);
        EXPECT_GT(before, 0);
        EXPECT_EQ(written(tiled, ops_of(tiled, 1, "mlp_in", direction), Role::output), before / 4);
    }
    EXPECT_EQ(written(tiled, ops_of(tiled, 1, "mlp_out", Direction::backward_input), Role::d_input) * 4,
              written(whole, ops_of(whole, 1, "mlp_out", Direction::backward_input), Role::d_input));
    EXPECT_LT(tiled.tier_bytes(spec::Tier::device), whole.tier_bytes(spec::Tier::device));
}

TEST(SequenceTiles, AddGradientsOfWeightsAfterTheFirstTile) {
    const auto program = build_program(in_tiles(4, spec::RecomputeKind::full), 0, Variant::train);
    const auto ops = ops_of(program, 1, "mlp_in", Direction::backward_weight);
    ASSERT_EQ(ops.size(), 4u);
    for (std::size_t k = 1; k < ops.size(); ++k) {
        EXPECT_TRUE(ops[k].accumulate);
    }
}

TEST(SequenceTiles, SavedValuesStayWhole) {
    const auto whole = build_program(in_tiles(1, spec::RecomputeKind::none), 0, Variant::train);
    const auto tiled = build_program(in_tiles(4, spec::RecomputeKind::none), 0, Variant::train);
    EXPECT_EQ(written(tiled, ops_of(tiled, 1, "mlp_in", Direction::forward), Role::output),
              written(whole, ops_of(whole, 1, "mlp_in", Direction::forward), Role::output));
}

TEST(SequenceTiles, BackwardOfLayersThatAreRecomputedTogetherIsTiled) {
    auto spec = in_tiles(4, spec::RecomputeKind::full);
    spec.model.layers = 2;
    spec.recompute.every = 2;
    const auto program = build_program(spec, 0, Variant::train);
    for (const UnitId unit : {1, 2}) {
        EXPECT_EQ(ops_of(program, unit, "mlp_in", Direction::backward_weight).size(), 4u);
    }
}

TEST(SequenceTiles, StayWholeWhereANormFollowsInBackward) {
    // Gemma 2 normalizes the output of the MLP, so backward needs all of its rows before those of a gradient.
    const auto program = build_program(in_tiles(4, spec::RecomputeKind::full, "gemma2"), 0, Variant::train);
    EXPECT_TRUE(std::ranges::any_of(
        program.ops, [](const Op& op) { return is_tile(op) && op.direction == Direction::forward; }));
    EXPECT_TRUE(std::ranges::any_of(
        program.ops, [](const Op& op) { return is_tile(op) && op.direction == Direction::backward_weight; }));
    EXPECT_TRUE(std::ranges::none_of(
        program.ops, [](const Op& op) { return is_tile(op) && op.direction == Direction::recompute; }));
}

}  // namespace
}  // namespace ziggurat::schedule
