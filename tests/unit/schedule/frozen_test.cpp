/// Parts of a step program that frozen tensors remove, and parts that they do not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "schedule/build_program.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/program_json.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

spec::RunSpec training(std::vector<std::string> only, const std::string& family = "gpt2", int data = 1) {
    auto spec = test::small_spec(family, data);
    spec.model.layers = 3;
    spec.train.only = std::move(only);
    return spec;
}

void shard_everything(spec::RunSpec& spec) {
    spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = spec.parallel.data;
}

const std::string& unit_name(const ModelLayout& model, int unit) {
    return model.table.units[static_cast<std::size_t>(unit)].name;
}

/// Returns the bytes of the persistent buffers of one kind.
std::int64_t bytes_of(const Program& program, StateKind kind) {
    std::int64_t bytes = 0;
    for (const auto& buffer : program.buffers) {
        bytes += buffer.lifetime == Lifetime::persistent && buffer.state == kind ? buffer.bytes : 0;
    }
    return bytes;
}

/// Returns the number of gradient elements written by all ops; each operand and run counts once.
std::int64_t gradient_elements(const Program& program) {
    std::int64_t elements = 0;
    for (const auto& op : program.ops) {
        for (const auto& operand : op.writes) {
            const bool is_first = op.kind == OpKind::compute && op.microbatch == 0;
            elements += is_first && std::string_view{to_string(operand.role)}.starts_with("d_") &&
                                program.buffers[static_cast<std::size_t>(operand.buffer)].state ==
                                    StateKind::gradients
                            ? operand.bytes() / 4
                            : 0;
        }
    }
    return elements;
}

std::int64_t local_elements(const ModelLayout& model, bool trained) {
    std::int64_t elements = 0;
    for (const auto& unit : model.table.units) {
        for (const auto& parameter : unit.parameters) {
            elements += parameter.is_trained == trained ? layout::local_elements(parameter, 1) : 0;
        }
    }
    return elements;
}

/// Returns the phases of a layer that run backward, by name.
std::set<std::string> phases_that_run_backward(const spec::RunSpec& spec, int unit) {
    const ModelLayout model{spec, 0};
    std::set<std::string> names;
    for (const auto& op : build_program(spec, 0, Variant::train).ops) {
        const bool is_backward = op.direction == Direction::backward ||
                                 op.direction == Direction::backward_input ||
                                 op.direction == Direction::backward_weight;
        if (op.kind == OpKind::compute && op.unit == unit && is_backward) {
            const auto& phases = model.table.units[static_cast<std::size_t>(unit)].phases;
            names.insert(phases[static_cast<std::size_t>(op.phase)].name);
        }
    }
    return names;
}

TEST(Frozen, LeaveTheBranchBesideATrainedOneOutOfBackward) {
    using Names = std::set<std::string>;
    EXPECT_EQ(phases_that_run_backward(training({"layers.0.mlp.*"}, "gpt_neox"), 1),
              (Names{"mlp_in", "activation", "mlp_out"}));
    EXPECT_EQ(phases_that_run_backward(training({"layers.0.attention.*"}, "gpt_neox"), 1),
              (Names{"qkv", "rope", "attention", "projection"}));
    EXPECT_EQ(phases_that_run_backward(training({"layers.0.mlp_norm.*"}, "gpt_neox"), 1),
              (Names{"mlp_norm", "mlp_in", "activation", "mlp_out"}));
}

TEST(Frozen, LeaveTheSumsOfSquaresOutOfBackwardWithoutATrainedProductBeforeThem) {
    using Names = std::set<std::string>;
    const Names behind{"whole_norm", "rope",       "attention", "projection",   "attn_post_norm",
                       "mlp_in",     "activation", "mlp_out",   "mlp_post_norm"};
    const auto spec = training({"layers.0.attention.*norm.gain"}, "olmo2");
    EXPECT_EQ(phases_that_run_backward(spec, 1), behind);
    const auto program = build_program(spec, 0, Variant::train);
    const auto& norm = test::op_of(program, "layers.0.whole_norm backward 0");
    EXPECT_EQ(program.find_write(norm, Role::d_square_sums), nullptr) << "no op would read it";

    auto with_product = behind;
    with_product.insert({"square_sum", "qkv"});
    EXPECT_EQ(phases_that_run_backward(training({"layers.0.attention.*"}, "olmo2"), 1), with_product);
    EXPECT_EQ(phases_that_run_backward(training({"layers.0.mlp.*"}, "olmo2"), 1),
              (Names{"mlp_in", "activation", "mlp_out", "mlp_post_norm"}));
}

TEST(Frozen, AndTrainingEverythingByAPatternIsTrainingEverything) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        auto spec = test::random_spec(seed, {.frozen = false, .tiles = false});
        const auto all = build_program(spec, spec.parallel.ranks - 1, Variant::train);
        spec.train.only = {"*"};

        EXPECT_EQ(program_as_json(build_program(spec, spec.parallel.ranks - 1, Variant::train)),
                  program_as_json(all));
    }
}

TEST(Frozen, TensorsHaveParametersAndNothingElse) {
    const auto spec = training({"*.mlp.*"});
    const ModelLayout model{spec, 0};
    const auto program = build_program(spec, model, Variant::train);
    std::int64_t trained = 0;
    std::int64_t frozen = 0;
    for (const auto& flat : model.flats) {
        trained += flat.trained_elements();
        frozen += flat.frozen_elements();
    }

    EXPECT_EQ(bytes_of(program, StateKind::parameters), 4 * trained);
    EXPECT_EQ(bytes_of(program, StateKind::frozen), 4 * frozen);
    for (const auto kind : {StateKind::gradients, StateKind::first_moment, StateKind::second_moment}) {
        EXPECT_EQ(bytes_of(program, kind), 4 * trained);
    }
}

TEST(Frozen, TensorsGetNoGradient) {
    for (const auto& only : std::vector<std::vector<std::string>>{
             {"*.bias"}, {"*_norm.gain"}, {"*.weight"}, {"embedding.position"}, {"layers.1.*", "final*"}}) {
        const auto spec = training(only);
        const ModelLayout model{spec, 0};

        EXPECT_EQ(gradient_elements(build_program(spec, model, Variant::train)), local_elements(model, true))
            << only.front();
    }
}

TEST(Frozen, TensorsAreNeverWritten) {
    auto spec = training({"layers.1.*"}, "gpt2", 2);
    for (const bool is_sharded : {false, true}) {
        if (is_sharded) {
            shard_everything(spec);
        }
        const auto program = build_program(spec, 0, Variant::train);
        for (const auto& op : program.ops) {
            for (const auto& operand : op.writes) {
                const auto& buffer = program.buffers[static_cast<std::size_t>(operand.buffer)];
                EXPECT_NE(buffer.state, StateKind::frozen) << op.label;
            }
        }
    }
}

TEST(Frozen, WeightsLeaveNoProductForTheirGradient) {
    const auto program = build_program(training({"*.bias"}), 0, Variant::train);
    int sums = 0;
    for (const auto& op : program.ops) {
        if (op.kind == OpKind::compute && op.direction == Direction::backward_weight) {
            EXPECT_EQ(program.find_read(op, Role::input), nullptr) << op.label;
            EXPECT_EQ(program.find_write(op, Role::d_weight), nullptr) << op.label;
            EXPECT_EQ(op.flops, 0) << op.label;
            ++sums;
        }
    }
    EXPECT_EQ(sums, 2 * 3 * 4) << "two micro-batches of three layers with four products";
}

TEST(Frozen, ProductsWithoutATrainedTensorLeaveNoOp) {
    for (const auto& op : build_program(training({"*norm.gain"}), 0, Variant::train).ops) {
        EXPECT_NE(op.direction, Direction::backward_weight) << op.label;
    }
    for (const auto& op : build_program(training({"layers.0.*"}), 0, Variant::train).ops) {
        EXPECT_FALSE(op.unit == 0 && op.kind == OpKind::compute && op.direction == Direction::backward)
            << op.label;
    }
}

TEST(Frozen, TensorsLiveWhereParametersDo) {
    auto spec = training({"*.bias"});
    spec.tiers.parameters = {0, 1, 0};
    for (const auto& buffer : build_program(spec, 0, Variant::train).buffers) {
        if (buffer.lifetime == Lifetime::persistent && buffer.state == StateKind::frozen) {
            EXPECT_EQ(buffer.tier, spec::Tier::host) << buffer.name;
        }
    }
}

TEST(Frozen, UnitsBelowTheFirstTrainedTensorRunForwardOnly) {
    auto spec = training({"layers.1.mlp.up.weight"});
    for (const auto kind : {spec::RecomputeKind::none, spec::RecomputeKind::full}) {
        spec.recompute.kind = kind;
        spec.recompute.every = 2;
        const ModelLayout model{spec, 0};
        for (const auto& op : build_program(spec, model, Variant::train).ops) {
            if (op.kind == OpKind::compute && op.unit < 2) {
                EXPECT_EQ(op.direction, Direction::forward)
                    << op.label << " of " << unit_name(model, op.unit);
            }
        }
    }
}

TEST(Frozen, PhasesBelowTheFirstTrainedTensorRunForwardOnly) {
    const auto spec = training({"layers.1.mlp.up.weight"});
    const ModelLayout model{spec, 0};
    std::vector<std::string> backward;
    for (const auto& op : build_program(spec, model, Variant::train).ops) {
        if (op.unit == 2 && op.microbatch == 0 && op.direction != Direction::forward) {
            backward.push_back(op.label);
        }
    }
    EXPECT_EQ(backward,
              (std::vector<std::string>{"layers.1.mlp_out backward_input 0", "layers.1.activation backward 0",
                                        "layers.1.mlp_in backward_weight 0"}));
}

TEST(Frozen, HeadAloneAsksForNoOtherGradient) {
    for (const auto& op : build_program(training({"head.*"}, "llama"), 0, Variant::train).ops) {
        EXPECT_FALSE(op.kind == OpKind::compute &&
                     (op.direction == Direction::backward || op.direction == Direction::backward_input))
            << op.label;
    }
}

TEST(Frozen, UnitsBelowTheFirstTrainedTensorKeepNoActivations) {
    const auto kept = [](const std::vector<std::string>& only) {
        const auto program = build_program(training(only), 0, Variant::train);
        return std::ranges::count_if(program.buffers, [](const Buffer& buffer) {
            return buffer.unit == 1 && buffer.consumer == MemoryCategory::activations;
        });
    };
    EXPECT_EQ(kept({"layers.2.*"}), 0);
    EXPECT_GT(kept({"layers.0.*"}), 0);
}

TEST(Frozen, StagesBelowTheFirstTrainedTensorGetNoGradients) {
    auto spec = training({"layers.2.*"});
    spec.parallel.stages = spec.parallel.ranks = 3;
    for (int rank = 0; rank < 3; ++rank) {
        const auto program = build_program(spec, rank, Variant::train);
        const auto messages = std::ranges::count_if(program.ops, [](const Op& op) {
            return op.purpose == Purpose::pipeline && op.direction == Direction::backward;
        });
        EXPECT_EQ(messages, 0) << "stage " << rank;
    }
    spec.train.only = {"layers.1.*"};
    const auto last = build_program(spec, 2, Variant::train);
    EXPECT_TRUE(std::ranges::any_of(last.ops, [](const Op& op) {
        return op.kind == OpKind::send && op.direction == Direction::backward;
    }));
}

TEST(Frozen, TensorsTravelWithTheTrainedOnesOfTheirUnit) {
    auto spec = training({"*.mlp.*"}, "llama", 2);
    shard_everything(spec);
    const ModelLayout model{spec, 1};
    const auto program = build_program(spec, model, Variant::train);
    int leases = 0;
    for (const auto& op : program.ops) {
        if (op.purpose != Purpose::parameters || op.unit != 1) {
            continue;
        }
        ++leases;
        ASSERT_EQ(op.reads.size(), 2U);
        ASSERT_EQ(op.writes.size(), 2U);
        ASSERT_EQ(op.blocks.size(), 4U);
        const auto& flat = model.flats[1];
        EXPECT_EQ(op.writes[0].runs, (schedule::ByteRangeList{{0, 4 * flat.trained_elements()}}));
        EXPECT_EQ(op.writes[1].runs,
                  (schedule::ByteRangeList{{4 * flat.trained_elements(), 4 * flat.frozen_elements()}}));
        EXPECT_EQ(op.reads[0].bytes(), op.blocks[1].bytes);
        EXPECT_EQ(op.reads[1].bytes(), op.blocks[3].bytes);
        EXPECT_EQ(op.blocks[2].offset, 4 * flat.trained_elements());
    }
    EXPECT_EQ(leases, 2 * 2);
}

TEST(Frozen, TableOfATiedHeadIsNoMatterOfTwoStages) {
    auto spec = training({"embedding.position", "layers.*"});
    spec.parallel.stages = spec.parallel.ranks = 2;
    const auto last = build_program(spec, 1, Variant::train);
    for (const auto& program : {build_program(spec, 0, Variant::train), last}) {
        for (const auto& group : program.groups) {
            EXPECT_NE(group.name, "first and last stage") << "rank " << program.rank;
        }
    }
    for (const auto& buffer : last.buffers) {
        EXPECT_TRUE(buffer.unit != 0 || buffer.state == StateKind::none || buffer.state == StateKind::frozen)
            << buffer.name;
    }
}

}  // namespace
}  // namespace ziggurat::schedule
