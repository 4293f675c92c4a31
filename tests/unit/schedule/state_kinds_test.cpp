/// Programs hold exactly the state of the table of its kinds, and use all of it.
#include "layout/state_kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedule/build_program.hpp"
#include "schedule/passes/saved_runs.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"

namespace ziggurat::schedule {
namespace {

using layout::state_kinds;

/// Returns runs with all types, shard degrees, tiers, frozen tensors, and replicas of the parameters.
std::vector<spec::RunSpec> some_runs() {
    std::vector<spec::RunSpec> runs;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        runs.push_back(test::random_spec(seed));
        runs.back().checkpoint.every = spec::Interval{.steps = 1};
    }
    auto with_second_copy =
        test::random_spec(0, {.context = false, .tiers = false, .frozen = false, .tiles = false});
    with_second_copy.parallel = {};
    with_second_copy.parallel.ranks = with_second_copy.parallel.data = 4;
    with_second_copy.sharding = {4, 4, 4, 2, spec::ReducePlan::each_microbatch, 4};
    runs.push_back(with_second_copy);
    return runs;
}

/// Returns the kinds of the persistent buffers of the program.
std::set<StateKind> kinds_kept(const Program& program) {
    std::set<StateKind> kinds;
    for (const auto& buffer : program.buffers) {
        if (buffer.lifetime == Lifetime::persistent && buffer.state != StateKind::none) {
            kinds.insert(buffer.state);
        }
    }
    return kinds;
}

/// Returns the kinds that ops compute with, at their homes or in copies.
std::set<StateKind> kinds_used(const Program& program) {
    std::set<StateKind> kinds;
    for (const auto& op : program.ops) {
        const bool moves = op.kind == OpKind::read || op.kind == OpKind::write || op.kind == OpKind::copy;
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                if (!moves) {
                    kinds.insert(program.buffers[static_cast<std::size_t>(operand.buffer)].state);
                }
            }
        }
    }
    return kinds;
}

/// Every kind occurs: in some run it is kept, or created within a step.
TEST(StateKindsOfPrograms, AreThoseOfTheTableInAllVariants) {
    std::set<StateKind> seen;
    for (const auto& run : some_runs()) {
        SCOPED_TRACE(test::described(run));
        const ModelLayout model{run, 0};
        const bool trains = std::ranges::any_of(model.units, [&](int u) { return model.trains(u); });
        const bool has_frozen = std::ranges::any_of(model.units, [&](int u) {
            return model.flats[static_cast<std::size_t>(u)].frozen_elements() > 0;
        });
        std::set<StateKind> wanted;
        for (const auto kind : state_kinds) {
            if (layout::is_kept(kind, run) && (layout::is_of_frozen(kind) ? has_frozen : trains)) {
                wanted.insert(kind);
            }
        }

        for (const auto variant : {Variant::train, Variant::evaluate}) {
            const auto program = build_program(run, model, variant);

            EXPECT_EQ(kinds_kept(program), wanted);
            seen.merge(kinds_used(program));
        }
    }
    for (const auto kind : state_kinds) {
        EXPECT_TRUE(seen.contains(kind)) << layout::to_string(kind) << " is of no use";
    }
}

TEST(StateKindsOfPrograms, AreUsedByEachStepThatTrains) {
    for (const auto& run : some_runs()) {
        SCOPED_TRACE(test::described(run));
        const auto program = build_program(run, 0, Variant::train);

        const auto used = kinds_used(program);

        for (const auto kind : kinds_kept(program)) {
            EXPECT_TRUE(used.contains(kind)) << layout::to_string(kind);
        }
    }
}

/// Updates read and write optimizer state, but not state that a step leaves unchanged.
TEST(StateKindsOfPrograms, OfTheOptimizerAreReadAndWrittenByUpdates) {
    for (const auto& run : some_runs()) {
        SCOPED_TRACE(test::described(run));
        const auto program = build_program(run, 0, Variant::train);
        std::set<StateKind> read;
        std::set<StateKind> written;
        for (const auto& op : program.ops) {
            if (op.kind != OpKind::update) {
                continue;
            }
            for (const auto& operand : op.reads) {
                read.insert(program.buffers[static_cast<std::size_t>(operand.buffer)].state);
            }
            for (const auto& operand : op.writes) {
                written.insert(program.buffers[static_cast<std::size_t>(operand.buffer)].state);
            }
        }
        for (const auto kind : kinds_kept(program)) {
            const bool is_changed = layout::row_of(kind).piece.has_value() && !layout::is_of_frozen(kind);
            EXPECT_EQ(written.contains(kind), is_changed && !written.empty()) << layout::to_string(kind);
            EXPECT_TRUE(!layout::is_optimizer_state(kind) || read.empty() || read.contains(kind));
        }
    }
}

TEST(StateKindsOfPrograms, AreSavedByTheRanksThatKeepThemWhereTheTableSaysSo) {
    for (const auto& run : some_runs()) {
        SCOPED_TRACE(test::described(run));
        std::set<StateKind> wanted;
        std::set<StateKind> saved;
        for (int rank = 0; rank < run.parallel.ranks; ++rank) {
            const ModelLayout model{run, rank};
            const auto program = build_program(run, model, Variant::evaluate);
            for (const auto kind : kinds_kept(program)) {
                if (layout::piece_of(kind, layout::masters_of(run))) {
                    wanted.insert(kind);
                }
            }
            for (const auto& one : saved_runs(model, program)) {
                saved.insert(program.buffers[static_cast<std::size_t>(one.buffer)].state);
            }
        }

        EXPECT_EQ(saved, wanted);
        EXPECT_FALSE(saved.contains(StateKind::gradients));
    }
}

TEST(StateKindsOfPrograms, HaveTheTypeAndTheTiersOfTheirRow) {
    for (const auto& run : some_runs()) {
        SCOPED_TRACE(test::described(run));
        const auto program = build_program(run, 0, Variant::train);
        for (const auto& buffer : program.buffers) {
            if (buffer.lifetime != Lifetime::persistent || buffer.state == StateKind::none) {
                continue;
            }
            const auto& home = *layout::home_of(buffer.state, run.tiers);
            const std::array shares{home.device, home.host, home.nvme};
            EXPECT_EQ(buffer.type, layout::type_of(buffer.state, run.precision)) << buffer.name;
            const bool stays = buffer.stays_on_host && buffer.tier == spec::Tier::host;
            EXPECT_TRUE(stays || shares[static_cast<std::size_t>(buffer.tier)] > 0) << buffer.name;
        }
    }
}

}  // namespace
}  // namespace ziggurat::schedule
