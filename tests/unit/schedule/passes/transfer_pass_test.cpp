#include "schedule/passes/transfer_pass.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/error.hpp"
#include "schedule/build_program.hpp"
#include "schedule/transfer_runs.hpp"
#include "schedule/verify/check_program.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/simulated_ranks.hpp"
#include "tests/unit/schedule/program_text.hpp"

namespace ziggurat::schedule {
namespace {

constexpr spec::Home device{1, 0, 0};
constexpr spec::Home host{0, 1, 0};
constexpr spec::Home nvme{0, 0, 1};

/// Returns a run with everything sharded over `ranks`, bf16, and gradients reduced each micro-batch.
spec::RunSpec sharded(int ranks, std::int64_t microbatches) {
    auto spec = test::random_spec(2, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    spec.parallel = {};
    spec.parallel.ranks = spec.parallel.data = ranks;
    spec.sharding = {ranks, ranks, ranks, 0, spec::ReducePlan::each_microbatch, ranks};
    spec.model.layers = 3;
    spec.model.tie_embeddings = false;
    spec.train.micro_batches = microbatches;
    spec.recompute = {spec::RecomputeKind::full, 1};
    spec.precision.compute = spec::DType::bf16;
    spec.overlap.prefetch = 1;
    spec.overlap.optimizer_prefetch = 0;
    spec.overlap.bucket_elements = 0;
    spec.tiers.chunk_elements = 7680;
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = device;
    return spec;
}

std::map<Engine, std::int64_t> bytes_by_engine(const Program& program) {
    std::map<Engine, std::int64_t> sum;
    for (const auto& op : program.ops) {
        if (op.purpose == Purpose::state) {
            for (const auto& read : op.reads) {
                sum[program.lanes[static_cast<std::size_t>(op.lane)].engine] += read.bytes();
            }
        }
    }
    return sum;
}

/// Elements of the rank's shards, and the same times the leases of each unit.
struct Sizes {
    std::int64_t elements = 0;
    std::int64_t leased = 0;
};

Sizes sizes(const spec::RunSpec& spec) {
    const ModelLayout model{spec, 0};
    Sizes sum;
    for (std::size_t u = 0; u < model.flats.size(); ++u) {
        const auto size = model.flats[u].padded_elements() / spec.parallel.data;
        const bool is_layer = model.table.units[u].kind == layout::UnitKind::layer;
        sum.elements += size;
        sum.leased += (is_layer ? 2 : 1) * size;
    }
    return sum;
}

TEST(TransferPass, MovesNothingWhenEverythingIsAtHomeOnTheDevice) {
    EXPECT_TRUE(bytes_by_engine(build_program(sharded(2, 2), 0, Variant::train)).empty());
}

TEST(TransferPass, MovesSlicesOfParametersOncePerLease) {
    for (const std::int64_t microbatches : {1, 3}) {
        auto spec = sharded(4, microbatches);
        spec.tiers.parameters = nvme;
        spec.tiers.optimizer = nvme;
        const auto [elements, leased] = sizes(spec);

        auto bytes = bytes_by_engine(build_program(spec, 1, Variant::train));

        EXPECT_EQ(bytes[Engine::host_to_device], microbatches * 2 * leased);
        EXPECT_EQ(bytes[Engine::nvme_read], microbatches * 2 * leased + 12 * elements);
        EXPECT_EQ(bytes[Engine::nvme_write], 2 * elements + 12 * elements);
    }
}

TEST(TransferPass, SendsEachReducedSliceOfGradientsHomeOnce) {
    for (const std::int64_t microbatches : {1, 3}) {
        auto spec = sharded(4, microbatches);
        spec.tiers.gradients = host;
        spec.tiers.optimizer = host;
        const auto elements = sizes(spec).elements;

        auto bytes = bytes_by_engine(build_program(spec, 2, Variant::train));

        EXPECT_EQ(bytes[Engine::device_to_host], microbatches * 4 * elements);
        EXPECT_EQ(bytes[Engine::host_to_device], 2 * elements);  // updated parameters
        EXPECT_EQ(bytes[Engine::nvme_read] + bytes[Engine::nvme_write], 0);
    }
}

TEST(TransferPass, HandsGradientsToUpdatesInBackwardWithoutNvme) {
    for (const auto type : {spec::DType::f32, spec::DType::bf16}) {
        for (const std::int64_t microbatches : {1, 3}) {
            auto spec = sharded(4, microbatches);
            spec.precision.gradient = type;
            spec.optimizer.clip = spec::ClipPolicy::off;
            spec.tiers.gradients = nvme;
            spec.tiers.optimizer = nvme;
            const auto elements = sizes(spec).elements;
            const auto gradients = [&](bool in_backward) {
                spec.overlap.optimizer_with_backward = in_backward;
                const auto program = build_program(spec, 1, Variant::train);
                EXPECT_TRUE(check_program(program).empty());
                const auto moved = bytes_by_engine(program);
                const auto width = type == spec::DType::f32 ? 4 : 2;
                const auto states = 12 * elements;
                return std::pair{(moved.at(Engine::nvme_read) - states) / width,
                                 (moved.at(Engine::nvme_write) - states) / width};
            };

            // Sums of all micro-batches but the last are written, and read for the next sum.
            EXPECT_EQ(gradients(true),
                      (std::pair{(microbatches - 1) * elements, (microbatches - 1) * elements}));
            EXPECT_EQ(gradients(false), (std::pair{microbatches * elements, microbatches * elements}));
        }
    }
}

TEST(TransferPass, UpdatesOnTheHostWhatIsAtHomeThere) {
    auto spec = sharded(2, 1);
    spec.tiers.optimizer = nvme;
    const auto program = build_program(spec, 0, Variant::train);

    for (const auto& op : program.ops) {
        if (op.kind == OpKind::update) {
            EXPECT_EQ(program.lanes[static_cast<std::size_t>(op.lane)].engine, Engine::host_optimizer);
        }
    }
}

TEST(TransferPass, ReadsTheFirstStateDuringBackwardAndNotBefore) {
    auto spec = sharded(2, 1);
    spec.tiers.optimizer = nvme;
    const auto program = build_program(spec, 0, Variant::train);

    const auto first_read = std::find_if(program.ops.begin(), program.ops.end(),
                                         [](const Op& op) { return op.kind == OpKind::read; });
    const auto is_backward = [](const Op& op) {
        return op.kind == OpKind::compute && op.direction >= Direction::backward;
    };

    ASSERT_NE(first_read, program.ops.end());
    EXPECT_TRUE(std::any_of(program.ops.begin(), first_read, is_backward));
    EXPECT_TRUE(std::any_of(first_read, program.ops.end(), is_backward));
}

/// Returns the number of reads of optimizer state listed before the first op of the update.
std::ptrdiff_t states_read_before_the_step_ends(const Program& program) {
    const auto end = std::ranges::find(program.ops, OpKind::step_end, &Op::kind);
    return std::count_if(program.ops.begin(), end, [&](const Op& op) {
        return op.kind == OpKind::read &&
               program.buffers[static_cast<std::size_t>(op.reads.front().buffer)].state == StateKind::master;
    });
}

TEST(TransferPass, ReadsStatesAsFarAheadAsItIsToldButNotBeforeTheyAreWritten) {
    auto spec = sharded(2, 1);
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = nvme;
    spec.tiers.chunk_elements = 256;
    const auto with = [&](int optimizer_prefetch) {
        spec.overlap.optimizer_prefetch = optimizer_prefetch;
        return build_program(spec, 0, Variant::train);
    };

    const auto min = states_read_before_the_step_ends(with(0));
    EXPECT_EQ(states_read_before_the_step_ends(with(2)), min) << "twice the prefetch, whatever is said";
    EXPECT_GT(states_read_before_the_step_ends(with(3)), min);
    EXPECT_GT(states_read_before_the_step_ends(with(5)), states_read_before_the_step_ends(with(3)));

    const auto moved = [](const Program& program) { return bytes_by_engine(program); };
    EXPECT_EQ(moved(with(8)), moved(with(0)));
    EXPECT_TRUE(check_program(with(1000)).empty()) << "all of them, from the first op on";
}

TEST(TransferPass, ReadsTheNextLayerBesideTheCopyOfThisOne) {
    auto spec = sharded(2, 1);
    spec.model.layers = 6;
    spec.tiers.parameters = nvme;
    for (const int prefetch : {2, 3}) {
        spec.overlap.prefetch = prefetch;
        const auto program = build_program(spec, 0, Variant::train);

        for (int layer = 1; layer < 6; ++layer) {
            const auto is_of = [&](const Op& op, int of, OpKind kind) {
                return op.kind == kind && op.label == "layers." + std::to_string(of) + ".parameters fetched";
            };
            const auto read = std::ranges::find_if(
                program.ops, [&](const Op& op) { return is_of(op, layer, OpKind::read); });
            const auto copy = std::ranges::find_if(
                program.ops, [&](const Op& op) { return is_of(op, layer - 1, OpKind::copy); });
            ASSERT_TRUE(read != program.ops.end() && copy != program.ops.end());
            EXPECT_EQ(std::ranges::count(read->waits_for, OpId{static_cast<int>(copy - program.ops.begin())}),
                      0)
                << read->label << ", prefetch " << prefetch;
        }
    }
}

// The link does not have to wait for the norm, which comes after the next layer's backward.
TEST(TransferPass, TakesGradientsHomeBeforeTheirNormIsFormed) {
    auto spec = sharded(2, 1);
    spec.tiers.gradients = spec.tiers.optimizer = nvme;
    const auto program = build_program(spec, 0, Variant::train);

    for (const std::string unit : {"layers.1", "layers.2"}) {
        ASSERT_GE(test::index_of(program, unit + ".gradients home"), 0);
        EXPECT_LT(test::index_of(program, unit + ".gradients home"),
                  test::index_of(program, unit + " sum of squares"));
    }
}

TEST(TransferPass, UpdatesTheNextChunkBesideTheWriteOfThisOne) {
    auto spec = sharded(2, 1);
    spec.tiers.optimizer = spec.tiers.parameters = nvme;
    spec.tiers.chunk_elements = 256;
    const auto program = build_program(spec, 0, Variant::train);

    const auto waits_for = [&](OpId op, OpId other) {
        return std::ranges::count(program.ops[static_cast<std::size_t>(op)].waits_for, other) > 0;
    };
    int update = -1;  // the latest; no update waits for the write to its home
    int updates = 0;
    for (int i = 0; i < static_cast<int>(program.ops.size()); ++i) {
        if (program.ops[static_cast<std::size_t>(i)].kind != OpKind::update) {
            continue;
        }
        for (int w = update + 1; update >= 0 && w < i; ++w) {
            const bool takes_home =
                program.ops[static_cast<std::size_t>(w)].kind == OpKind::write && waits_for(w, update);
            EXPECT_FALSE(takes_home && waits_for(i, w)) << program.ops[static_cast<std::size_t>(i)].label;
        }
        update = i;
        ++updates;
    }
    EXPECT_GT(updates, 4);
}

TEST(TransferPass, ReadsTheNextChunkBesideTheUpdateOfThisOne) {
    auto spec = sharded(2, 1);
    spec.tiers.optimizer = nvme;
    spec.tiers.chunk_elements = 256;
    const auto program = build_program(spec, 0, Variant::train);

    // In list order, reads of a later chunk come before the update of an earlier one.
    int reads_ahead = 0;
    bool is_updating = false;
    for (const auto& op : program.ops) {
        is_updating = is_updating || op.kind == OpKind::update;
        reads_ahead += is_updating && op.kind == OpKind::read ? 1 : 0;
    }
    EXPECT_GT(reads_ahead, 0);
    EXPECT_TRUE(check_program(program).empty());
}

// Forward may begin while the last chunks are updated: its first parameters were published first.
TEST(TransferPass, LetsForwardsReadsWaitForTheirOwnPublicationAlone) {
    auto spec = sharded(2, 1);
    spec.model.layers = 6;
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = nvme;
    spec.overlap.prefetch = 2;
    for (const int optimizer_prefetch : {4, 16, 64}) {
        spec.overlap.optimizer_prefetch = optimizer_prefetch;
        const auto program = build_program(spec, 0, Variant::train);

        int waits = 0;
        for (const auto& op : program.ops) {
            if (op.kind != OpKind::read) {
                continue;
            }
            const auto state = program.buffers[static_cast<std::size_t>(op.reads.front().buffer)].state;
            const bool is_of_forward = state == StateKind::parameters;
            EXPECT_NE(program.lanes[static_cast<std::size_t>(op.lane)].serves_updates, is_of_forward)
                << op.label << " would stand behind reads for " << (is_of_forward ? "updates" : "forward");
            for (const auto earlier : is_of_forward ? op.waits_for_previous_step : std::vector<OpId>{}) {
                const auto& awaited = program.ops[static_cast<std::size_t>(earlier)];
                EXPECT_EQ(std::ranges::count(awaited.writes, op.reads.front().buffer, &Operand::buffer), 1)
                    << op.label << " waits for " << awaited.label << " at depth " << optimizer_prefetch;
                ++waits;
            }
        }
        EXPECT_GT(waits, 4);
    }
}

TEST(TransferPass, PublishesBesideTheWritesOfOptimizerStates) {
    auto spec = sharded(2, 1);
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = nvme;
    const auto program = build_program(spec, 0, Variant::train);

    int of_updates = 0, of_passes = 0;
    for (const auto& op : program.ops) {
        if (op.kind != OpKind::write) {
            continue;
        }
        const bool serves_updates = program.lanes[static_cast<std::size_t>(op.lane)].serves_updates;
        ++(serves_updates ? of_updates : of_passes);
        for (const auto& operand : op.writes) {
            const auto state = program.buffers[static_cast<std::size_t>(operand.buffer)].state;
            EXPECT_EQ(serves_updates, state != StateKind::parameters && state != StateKind::gradients)
                << op.label;
        }
    }
    EXPECT_GT(of_updates, 0);
    EXPECT_GT(of_passes, 0);
}

TEST(TransferPass, LetsGradientsLeaveWhereverChunksAre) {
    auto spec = sharded(2, 1);
    spec.model.layers = 6;
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = nvme;
    spec.tiers.chunk_elements = 256;
    for (const int optimizer_prefetch : {4, 16}) {
        spec.overlap.optimizer_prefetch = optimizer_prefetch;
        const auto program = build_program(spec, 0, Variant::train);

        int copies = 0;
        for (const auto& op : program.ops) {
            const auto lane = static_cast<std::size_t>(op.lane);
            const bool takes_gradients_away =
                program.lanes[lane].engine == Engine::device_to_host &&
                program.buffers[static_cast<std::size_t>(op.writes.front().buffer)].state ==
                    StateKind::gradients;
            if (!takes_gradients_away) {
                continue;
            }
            ++copies;
            for (const auto* awaited_ones : {&op.waits_for, &op.waits_for_previous_step}) {
                for (const int i : *awaited_ones) {
                    const auto& awaited = program.ops[static_cast<std::size_t>(i)];
                    EXPECT_FALSE(program.lanes[static_cast<std::size_t>(awaited.lane)].serves_updates)
                        << op.label << " waits for " << awaited.label << " at depth " << optimizer_prefetch;
                }
            }
        }
        EXPECT_GT(copies, 4);
    }
}

TEST(TransferPass, LetsTheFirstActivationsLeaveBeforeTheLastChunkIsHome) {
    auto spec = sharded(2, 1);
    spec.model.layers = 12;
    spec.tiers.parameters = spec.tiers.gradients = spec.tiers.optimizer = nvme;
    spec.tiers.activations = host;
    spec.tiers.chunk_elements = 256;
    for (const int optimizer_prefetch : {4, 16}) {
        spec.overlap.optimizer_prefetch = optimizer_prefetch;
        const auto program = build_program(spec, 0, Variant::train);

        for (const std::string label : {"embedding.x away", "layers.0.residual.out away"}) {
            ASSERT_GE(test::index_of(program, label), 0);
            const auto& copy = program.ops[static_cast<std::size_t>(test::index_of(program, label))];
            EXPECT_TRUE(copy.waits_for_previous_step.empty()) << label << " at depth " << optimizer_prefetch;
        }
    }
}

// Class A: homes move bytes, not values.
TEST(TransferPass, LeavesTheSameBitsWhateverTheHomes) {
    const auto fingerprint = [](const spec::RunSpec& spec) {
        const ExpectedResults truth{spec};
        const auto result = simulate(test::programs_of_all_ranks(spec), &truth, {.seed = 3});
        EXPECT_EQ(result.report(), "");
        return result.fingerprint;
    };
    auto spec = sharded(2, 2);
    const auto at_home = fingerprint(spec);

    for (const auto& parameters : {device, host, nvme}) {
        for (const auto& optimizer : {device, host, nvme}) {
            spec.tiers.parameters = parameters;
            spec.tiers.gradients = optimizer;
            spec.tiers.optimizer = optimizer;
            EXPECT_EQ(fingerprint(spec), at_home);
        }
    }
}

TEST(ByteRangeSet, AreSetsOfBytes) {
    const ByteRangeSet runs{{{10, 5}, {0, 5}, {5, 2}}};

    EXPECT_EQ(runs.moved(0), (schedule::ByteRangeList{{0, 7}, {10, 5}}));
    EXPECT_EQ(runs.without(ByteRangeSet{{{3, 8}}}).moved(1), (schedule::ByteRangeList{{1, 3}, {12, 4}}));
    EXPECT_TRUE(runs.overlaps(ByteRangeSet{{{6, 1}}}));
    EXPECT_FALSE(runs.overlaps(ByteRangeSet{{{7, 3}}}));
}

}  // namespace
}  // namespace ziggurat::schedule
