#include "schedule/no_flush/no_flush_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "schedule/build_program.hpp"
#include "schedule/place/derive_dependencies.hpp"
#include "schedule/rotated_program.hpp"
#include "schedule/verify/check_program.hpp"
#include "schedule/verify/link_volumes.hpp"
#include "schedule/verify/simulate.hpp"
#include "spec/weight_versions.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/program_text.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns the findings of a simulation of all ranks, and of the checks of each program.
std::string findings_of(const spec::RunSpec& spec, std::uint64_t seed = 1) {
    const auto programs = test::programs_of_all_ranks(spec);
    std::string text;
    for (const auto& program : programs) {
        for (const auto& finding : check_program(program)) {
            text += std::string{to_string(finding.kind)} + ": " + finding.text + "\n";
        }
    }
    const ExpectedResults truth{spec};
    return text + simulate(programs, &truth, {.steps = 5, .seed = seed}).report();
}

std::string findings_of(const spec::RunSpec& spec, std::vector<Program> programs) {
    const ExpectedResults truth{spec};
    return simulate(programs, &truth, {.steps = 5}).report();
}

/// Returns the passes of a layer as texts: direction (f, b) and micro-batch.
std::vector<std::string> passes_of(const Program& program, UnitId unit) {
    std::vector<std::string> found;
    for (const auto& op : program.ops) {
        const auto text = (op.direction == Direction::forward ? "f" : "b") + std::to_string(op.microbatch);
        if (op.kind == OpKind::compute && op.unit == unit && (found.empty() || found.back() != text)) {
            found.push_back(text);
        }
    }
    return found;
}

std::int64_t bytes_of(const Program& program, MemoryCategory category) {
    std::int64_t bytes = 0;
    for (const auto& buffer : program.buffers) {
        bytes += buffer.consumer == category && buffer.lifetime == Lifetime::in_flight ? buffer.bytes : 0;
    }
    return bytes;
}

TEST(NoFlushPass, RunsForwardAheadAndBackwardInTurn) {
    const auto programs = test::programs_of_all_ranks(test::pipedream_spec(3, 2));

    using Passes = std::vector<std::string>;
    EXPECT_EQ(passes_of(programs[0], 1), (Passes{"f2", "b0", "f3", "b1"}));
    EXPECT_EQ(passes_of(programs[1], 3), (Passes{"f1", "b0", "f2", "b1"}));
    EXPECT_EQ(passes_of(programs[2], 5), (Passes{"f0", "b0", "f1", "b1"}));
    EXPECT_EQ(programs[0].microbatches, 4);
    EXPECT_EQ(programs[0].microbatches_of_step(), 2);
}

// For any depth and number of micro-batches: values, versions of weights, gradients and updated states.
TEST(NoFlushPass, WritesStepsThatTheSimulationConfirms) {
    for (int stages = 2; stages <= 4; ++stages) {
        for (std::int64_t microbatches = 1; microbatches <= 5; ++microbatches) {
            for (std::uint64_t seed = 0; seed < 3; ++seed) {
                EXPECT_EQ(findings_of(test::pipedream_spec(stages, microbatches), seed), "")
                    << stages << " stages, " << microbatches << " micro-batches";
            }
        }
    }
}

TEST(NoFlushPass, ComposesWithOtherAxesAndRecomputation) {
    auto spec = test::pipedream_spec(2, 2);
    spec.parallel.data = 2;
    spec.parallel.ranks = spec.parallel.ranks_per_node = 4;
    spec.train.global_batch *= 2;
    EXPECT_EQ(findings_of(spec), "");
    spec.sharding.optimizer = 2;
    EXPECT_EQ(findings_of(spec), "") << "ZeRO 1";
    spec.sharding.gradients = 2;
    spec.sharding.reduce = spec::ReducePlan::each_microbatch;
    EXPECT_EQ(findings_of(spec), "") << "ZeRO 2";
    spec.sharding.parameters = 2;
    EXPECT_EQ(findings_of(spec), "") << "ZeRO 3";
    spec.train.micro_batches = 1;
    spec.train.global_batch = 4;
    EXPECT_EQ(findings_of(spec), "") << "ZeRO 3, one micro-batch";
    spec.recompute.kind = spec::RecomputeKind::selective;
    EXPECT_EQ(findings_of(spec), "") << "selective recomputation";
    spec.recompute.kind = spec::RecomputeKind::full;
    EXPECT_EQ(findings_of(spec), "") << "full recomputation";

    auto tensor = test::pipedream_spec(3, 1);
    tensor.parallel.tensor = 2;
    tensor.parallel.ranks = tensor.parallel.ranks_per_node = 6;
    EXPECT_EQ(findings_of(tensor), "") << "tensor axis";
    tensor.precision.compute = spec::DType::bf16;
    tensor.parallel.sequence = true;
    EXPECT_EQ(findings_of(tensor), "") << "sequence parallelism in bf16";
}

// Forward, recomputation and backward draw the masks of the micro-batch's own step.
TEST(NoFlushPass, ComposesWithDropout) {
    for (const auto recompute :
         {spec::RecomputeKind::none, spec::RecomputeKind::selective, spec::RecomputeKind::full}) {
        for (const std::int64_t microbatches : {1, 3}) {
            auto spec = test::pipedream_spec(3, microbatches, "gpt2");
            spec.model.dropout = 0.1;
            spec.recompute.kind = recompute;
            EXPECT_EQ(findings_of(spec), "") << microbatches << " micro-batches";
        }
    }
}

TEST(NoFlushPass, ComposesWithHomesOfState) {
    for (const auto dtype : {spec::DType::f32, spec::DType::bf16}) {
        for (const spec::Home& home : {spec::Home{0, 1, 0}, spec::Home{0, 0, 1}, spec::Home{0.4, 0.6, 0}}) {
            for (const std::int64_t microbatches : {1, 3}) {
                auto spec = test::pipedream_spec(3, microbatches);
                spec.precision.compute = dtype;
                spec.tiers.chunk_elements = 1024;
                spec.tiers.optimizer = home;
                EXPECT_EQ(findings_of(spec), "") << "optimizer";
                spec.tiers.gradients = home;
                EXPECT_EQ(findings_of(spec), "") << "gradients";
                spec.tiers.parameters = home;
                EXPECT_EQ(findings_of(spec), "") << "parameters";
            }
        }
    }
}

TEST(NoFlushPass, ComposesWithHomesOfActivations) {
    for (const spec::Home& home : {spec::Home{0, 1, 0}, spec::Home{0, 0, 1}, spec::Home{0.4, 0.3, 0.3}}) {
        for (int stages = 2; stages <= 4; ++stages) {
            for (const std::int64_t microbatches : {1, 2, 5}) {
                for (const int prefetch : {0, 1, 3}) {
                    auto spec = test::pipedream_spec(stages, microbatches);
                    spec.model.layers = stages;  // with the fewest unit passes
                    spec.overlap.prefetch = prefetch;
                    spec.tiers.activations = home;
                    EXPECT_EQ(findings_of(spec), "")
                        << stages << " stages, " << microbatches << " micro-batches";
                    spec.model.layers = std::int64_t{2} * stages;
                    spec.recompute.kind = spec::RecomputeKind::full;
                    EXPECT_EQ(findings_of(spec), "") << "full recomputation";
                }
            }
        }
    }
    auto swaps = test::pipedream_spec(3, 2);
    swaps.recompute.fates = {{"mlp.up", spec::ActivationFate::host}, {"qkv", spec::ActivationFate::nvme}};
    EXPECT_EQ(findings_of(swaps), "");
}

TEST(NoFlushPass, ComposesWithHomesOfShardedState) {
    for (const spec::Home& home : {spec::Home{0, 1, 0}, spec::Home{0, 0, 1}}) {
        for (const int zero : {1, 2, 3}) {
            for (const std::int64_t microbatches : {1, 3}) {
                auto spec = test::pipedream_spec(2, microbatches);
                spec.parallel.data = 2;
                spec.parallel.ranks = spec.parallel.ranks_per_node = 4;
                spec.train.global_batch *= 2;
                spec.sharding.optimizer = 2;
                spec.sharding.gradients = zero >= 2 ? 2 : 1;
                spec.sharding.parameters = zero >= 3 ? 2 : 1;
                spec.tiers.chunk_elements = 1024;
                spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = home;
                for (const auto reduce : {spec::ReducePlan::at_end, spec::ReducePlan::each_microbatch}) {
                    spec.sharding.reduce = reduce;
                    EXPECT_EQ(findings_of(spec), "") << "ZeRO " << zero;
                }
            }
        }
    }
}

/// Returns the bytes of stashes in each tier.
spec::ByTier<std::int64_t> stash_bytes(const Program& program) {
    spec::ByTier<std::int64_t> bytes{};
    for (const auto& buffer : program.buffers) {
        const bool is_stash =
            buffer.consumer == MemoryCategory::stashes && buffer.lifetime == Lifetime::in_flight;
        bytes[buffer.tier] += is_stash ? buffer.bytes : 0;
    }
    return bytes;
}

/// Returns the bytes of the parameters of layers in each tier.
spec::ByTier<std::int64_t> layer_bytes(const Program& program) {
    spec::ByTier<std::int64_t> bytes{};
    for (const auto& buffer : program.buffers) {
        const bool is_of_layer = 1 <= buffer.unit && buffer.unit <= program.layers;
        const bool is_parameters =
            buffer.state == StateKind::parameters && buffer.lifetime == Lifetime::persistent;
        bytes[buffer.tier] += is_of_layer && is_parameters ? buffer.bytes : 0;
    }
    return bytes;
}

TEST(NoFlushPass, KeepsStashesInTheTiersOfTheirParameters) {
    for (const spec::Home& home :
         {spec::Home{1, 0, 0}, spec::Home{0, 1, 0}, spec::Home{0, 0, 1}, spec::Home{0.5, 0.2, 0.3}}) {
        for (const std::int64_t microbatches : {1, 2, 4}) {
            auto spec = test::pipedream_spec(3, microbatches);
            spec.tiers.chunk_elements = 1024;
            spec.tiers.parameters = home;
            EXPECT_EQ(findings_of(spec), "");
            for (int stage = 0; stage < 3; ++stage) {
                const auto program = build_program(spec, stage, Variant::train);
                const auto stashes = spec::weight_versions(spec, stage).stashes();
                auto expected = layer_bytes(program);
                std::ranges::transform(expected, expected.begin(),
                                       [&](std::int64_t bytes) { return stashes * bytes; });

                EXPECT_EQ(stash_bytes(program), expected) << "stage " << stage;
            }
        }
    }
}

// The current version is copied within the memory of the host, or from NVMe to NVMe.
TEST(NoFlushPass, FillsStashesThatAreNotOnTheDeviceWithoutIt) {
    for (const spec::Home& home : {spec::Home{0, 1, 0}, spec::Home{0, 0, 1}}) {
        auto spec = test::pipedream_spec(3, 1);
        spec.tiers.parameters = home;
        const auto program = build_program(spec, 0, Variant::train);
        std::int64_t num_copies = 0;
        for (const auto& op : program.ops) {
            if (op.purpose != Purpose::stash) {
                continue;
            }
            num_copies += op.kind == OpKind::copy ? 1 : 0;
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    EXPECT_NE(program.buffers[operand.buffer].tier, spec::Tier::device) << op.label;
                }
            }
        }
        EXPECT_EQ(num_copies, 2) << "one of each layer";
    }
}

TEST(NoFlushPass, MovesStashesAsManyBytesAsTheFormulaSays) {
    for (const spec::Home& home : {spec::Home{1, 0, 0}, spec::Home{0, 1, 0}, spec::Home{0, 0, 1}}) {
        for (const std::int64_t microbatches : {1, 3}) {
            auto spec = test::pipedream_spec(3, microbatches);
            spec.parallel.data = 2;
            spec.parallel.ranks = spec.parallel.ranks_per_node = 6;
            spec.train.global_batch *= 2;
            spec.sharding = {2, 2, 2, 0, spec::ReducePlan::each_microbatch, 2};
            spec.tiers.parameters = home;
            for (int rank = 0; rank < 6; ++rank) {
                const auto program = build_program(spec, rank, Variant::train);
                EXPECT_EQ(bytes_by_payload(program)[PayloadKind::parameters],
                          link_volumes_by_formula(spec, ModelLayout{spec, rank})[PayloadKind::parameters])
                    << "rank " << rank << ", " << microbatches << " micro-batches";
            }
        }
    }
}

// Calls of a collective are prepared by all members together, one time for each memory of its buffers.
TEST(NoFlushPass, GathersWithOnePeriodOnAllMembers) {
    for (const spec::Home& home : {spec::Home{1, 0, 0}, spec::Home{0.4, 0.6, 0}, spec::Home{0, 1, 0}}) {
        auto spec = test::pipedream_spec(3, 1);
        spec.parallel.data = 2;
        spec.parallel.ranks = spec.parallel.ranks_per_node = 6;
        spec.train.global_batch *= 2;
        spec.sharding.parameters = spec.sharding.gradients = spec.sharding.optimizer = 2;
        spec.tiers.tiles = {{.match = "*", .in = 1, .out = 2}};
        spec.tiers.chunk_elements = 1024;
        spec.tiers.parameters = home;
        EXPECT_EQ(findings_of(spec), "");
        std::map<int, std::set<std::vector<int>>> by_stage;
        for (const auto& program : test::programs_of_all_ranks(spec)) {
            std::vector<int> periods;
            for (const auto& op : program.ops) {
                if (is_collective(op.kind) && op.purpose == Purpose::parameters) {
                    periods.push_back(period_of(program, op));
                }
            }
            by_stage[ModelLayout{spec, program.rank}.stage].insert(std::move(periods));
        }
        ASSERT_EQ(by_stage.size(), 3);
        for (const auto& [stage, periods] : by_stage) {
            EXPECT_EQ(periods.size(), 1) << "stage " << stage;
        }
        EXPECT_EQ(std::ranges::max(*by_stage[0].begin()), 2) << "versions that gathers read in turn";
    }
}

// A slot is as large as the saved activations of a micro-batch, and a stash as the parameters that backward
// reads.
TEST(NoFlushPass, KeepsAsMuchAsTheClosedFormsSay) {
    for (const std::int64_t microbatches : {1, 2, 4}) {
        const auto spec = test::pipedream_spec(3, microbatches);
        for (int stage = 0; stage < 3; ++stage) {
            const auto rule = spec::weight_versions(spec, stage);
            const ModelLayout model{spec, stage};
            std::int64_t parameters = 0;
            for (const UnitId unit : model.units) {
                const bool is_read = model.table.units[unit].kind == layout::UnitKind::layer;
                parameters += is_read ? model.flats[unit].trained_elements() * 4 : 0;
            }
            const auto program = build_program(spec, stage, Variant::train);
            auto other = spec;
            other.train.micro_batches = 7;
            const auto more = build_program(other, stage, Variant::train);

            EXPECT_EQ(bytes_of(program, MemoryCategory::stashes),
                      stage == 2 ? 0 : rule.stashes() * parameters);
            EXPECT_EQ(bytes_of(program, MemoryCategory::activations),
                      bytes_of(more, MemoryCategory::activations));
            EXPECT_TRUE(std::ranges::all_of(program.rotations, [&](const Rotation& rotation) {
                const auto slots = static_cast<std::int64_t>(rotation.slots.size());
                return slots == rule.in_flight() || slots == rule.in_flight() + 1 || slots == rule.stashes();
            }));
        }
    }
}

// Away from the device, the slots are as large as on it. Received values have two slots on the device, too.
TEST(NoFlushPass, KeepsSlotsOfActivationsInTheirHome) {
    for (const std::int64_t microbatches : {1, 2, 4}) {
        for (int stage = 0; stage < 2; ++stage) {
            auto spec = test::pipedream_spec(3, microbatches);
            const auto here = build_program(spec, stage, Variant::train);
            spec.tiers.activations = {0, 1, 0};
            const auto away = build_program(spec, stage, Variant::train);
            const auto in_flight = spec::weight_versions(spec, stage).in_flight();
            const auto received = stage == 0 ? 0 : std::int64_t{32} * 32 * 4;  // tokens, channels, bytes
            spec::ByTier<std::int64_t> bytes{};
            for (const auto& buffer : away.buffers) {
                const bool is_slot =
                    buffer.consumer == MemoryCategory::activations && buffer.lifetime == Lifetime::in_flight;
                bytes[buffer.tier] += is_slot ? buffer.bytes : 0;
            }

            EXPECT_EQ(bytes[spec::Tier::device], 2 * received);
            EXPECT_EQ(bytes[spec::Tier::host] + received, bytes_of(here, MemoryCategory::activations))
                << in_flight << " micro-batches, and one that is received early";
            EXPECT_EQ(bytes[spec::Tier::host] % in_flight, 0);
        }
    }
}

TEST(NoFlushPass, IsCheckedForStashesOfAnotherVersion) {
    const auto spec = test::pipedream_spec(3, 1);
    const auto programs = test::programs_of_all_ranks(spec);
    ASSERT_EQ(findings_of(spec, programs), "");

    auto late = programs;
    for (auto& op : late[0].ops) {
        for (auto& read : op.reads) {
            auto& slots = late[0].rotations.back().slots;
            if (slots.size() == 2 && read.buffer == slots[1]) {
                read.buffer = slots[0];
            }
        }
    }
    EXPECT_NE(findings_of(spec, late).find("which holds the parameters of step"), std::string::npos);

    auto current = programs;
    for (auto& op : current[1].ops) {
        for (auto& read : op.reads) {
            if (current[1].buffers[read.buffer].consumer == MemoryCategory::stashes) {
                read.buffer = current[1].buffers[read.buffer].unit == 3 ? BufferId{0} : read.buffer;
            }
        }
    }
    EXPECT_NE(findings_of(spec, current), "");
}

TEST(NoFlushPass, IsCheckedForSlotsOfAnotherMicroBatch) {
    const auto spec = test::pipedream_spec(3, 2);
    auto programs = test::programs_of_all_ranks(spec);
    ASSERT_EQ(findings_of(spec, programs), "");

    programs[0].rotations.front().shift = (programs[0].rotations.front().shift + 1) % 3;

    EXPECT_NE(findings_of(spec, programs), "");
}

// An op of the step before last is not waited for by name, but its next run is.
TEST(NoFlushPass, WaitsForOpsOfEarlierStepsInOtherSlots) {
    const auto program = build_program(test::pipedream_spec(4, 1), 0, Variant::train);

    EXPECT_EQ(period_of(program, test::op_of(program, "layers.0.qkv forward 3")), 4);
    for (const auto& op : program.ops) {
        EXPECT_TRUE(std::ranges::adjacent_find(op.waits_for_previous_step) ==
                    op.waits_for_previous_step.end());
    }
}

TEST(PipelineFill, RunsMicroBatchesBetweenTwoDrains) {
    const auto program = build_program(test::pipedream_spec(3, 2), 0, Variant::train);
    const PipelineFill fill{.first_step = 4, .end_step = 6};
    const auto runs = [&](const char* label, std::int64_t step) {
        return fill.runs(program, test::op_of(program, label), step);
    };

    EXPECT_EQ(runs_in_flight(program), 2);
    EXPECT_TRUE(runs("layers.0.qkv forward 2", 3));
    EXPECT_FALSE(runs("layers.0.qkv backward_input 0", 3));
    EXPECT_TRUE(runs("layers.0.qkv backward_input 0", 4));
    EXPECT_TRUE(runs("layers.0.qkv forward 3", 4));
    EXPECT_FALSE(runs("layers.0.qkv forward 3", 5));
    EXPECT_TRUE(runs("stash of layers.0", 3));
    EXPECT_FALSE(runs("norm and clip factor", 3));
}

TEST(PipelineFill, BringsTheStepToForwardsWithDropout) {
    auto spec = test::pipedream_spec(3, 2, "gpt2");
    spec.model.dropout = 0.1;
    const auto program = build_program(spec, 0, Variant::train);

    EXPECT_TRUE(PipelineFill({.first_step = 4, .end_step = 6})
                    .runs(program, test::op_of(program, "step_inputs to device"), 3));
}

}  // namespace
}  // namespace ziggurat::schedule
