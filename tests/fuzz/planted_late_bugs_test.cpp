/// A device with delayed streams detects missing waits: each planted bug shows in at least one random
/// deck.
///
/// Calls on the host's own streams are complete when they return, so they hide these bugs. This test
/// therefore runs only on emulated devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tests/fuzz/nvme_folder.hpp"
#include "tests/fuzz/straying_device.hpp"
#include "tests/fuzz/training.hpp"
#include "tests/support/device/test_processors.hpp"
#include "tests/support/random/random_deck.hpp"
#include "tests/support/rank_test.hpp"

namespace ziggurat::test {
namespace {

using schedule::Engine;
using schedule::Program;

constexpr std::uint64_t num_decks = 20;

/// Enough steps to show a wrong value of one step in the losses of the others.
constexpr LrScheduleState course{.steps = 3};

Engine engine_of(const Program& program, int op) {
    const auto lane = program.ops[static_cast<std::size_t>(op)].lane;
    return program.lanes[static_cast<std::size_t>(lane)].engine;
}

/// Removes the waits of all ops on `waiting` for ops on `awaited`. Returns their number.
std::size_t forget_waits(Program& program, Engine waiting, Engine awaited) {
    std::size_t forgotten = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        if (engine_of(program, static_cast<int>(i)) == waiting) {
            const auto is_awaited = [&](int other) { return engine_of(program, other) == awaited; };
            forgotten += std::erase_if(program.ops[i].waits_for, is_awaited);
            forgotten += std::erase_if(program.ops[i].waits_for_previous_step, is_awaited);
        }
    }
    return forgotten;
}

/// Removes one wait of a device op for an op on another stream in the same step, chosen by `seed`.
std::size_t forget_one_wait(Program& program, std::uint64_t seed) {
    const auto is_late = [&](int op) {
        const auto engine = engine_of(program, op);
        return engine == Engine::compute || schedule::link_of(engine) == schedule::Link::host_to_device ||
               schedule::link_of(engine) == schedule::Link::device_to_host;
    };
    std::vector<std::pair<std::size_t, std::size_t>> waits;  // op, index of the wait
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (std::size_t w = 0; is_late(static_cast<int>(i)) && w < program.ops[i].waits_for.size(); ++w) {
            if (is_late(program.ops[i].waits_for[w])) {
                waits.emplace_back(i, w);
            }
        }
    }
    if (waits.empty()) {
        return 0;
    }
    const auto [op, position] = waits[seed * 7919 % waits.size()];
    auto& of_op = program.ops[op].waits_for;
    of_op.erase(of_op.begin() + static_cast<std::ptrdiff_t>(position));
    return 1;
}

struct LateBug {
    const char* name;
    /// Plants the bug and returns the number of changed ops. Null: the program stays unchanged.
    std::size_t (*plant)(Program& program, std::uint64_t seed) = nullptr;
    /// Order of kernels that run on a wrong stream; empty: all kernels run on theirs.
    std::optional<KeptOrder> strays = {};
};

void PrintTo(const LateBug& bug, std::ostream* out) {
    *out << bug.name;
}

/// Copies to the device do not wait for compute ops: they overwrite buffers that are still read.
std::size_t reuse_under_readers(Program& program, std::uint64_t) {
    return forget_waits(program, Engine::host_to_device, Engine::compute);
}
std::size_t compute_before_copies(Program& program, std::uint64_t) {
    return forget_waits(program, Engine::compute, Engine::host_to_device);
}
/// Compute ops do not wait for copies from the device: they overwrite buffers that are still copied.
std::size_t reuse_under_copies(Program& program, std::uint64_t) {
    return forget_waits(program, Engine::compute, Engine::device_to_host);
}
std::size_t copy_before_computed(Program& program, std::uint64_t) {
    return forget_waits(program, Engine::device_to_host, Engine::compute);
}

/// Describes the training of a deck with the bug: its difference, or the error that rejected it.
///
/// Empty if it is correct, or if no op can have the bug.
std::string finding_in(const RandomDeck& deck, const LateBug& bug) {
    auto programs = train::build_programs(deck.run, 0);
    if (bug.plant != nullptr && bug.plant(programs.train, deck.seed) == 0) {
        return {};
    }
    const auto plain = without_tiers(deck.run);
    const auto expected = [&] {
        const OnHost on_host;
        return train_on_made_up_batches(plain, world(), train::build_programs(plain, 0), course);
    }();
    const auto threads = deck.run.parallel.threads;
    auto devices = processors_for_tests(threads);
    if (bug.strays) {
        devices.device = std::make_shared<StrayingDevice>(devices.device, threads, *bug.strays);
    }
    try {
        return train_on_made_up_batches(deck.run, world(), std::move(programs), course, devices)
            .first_difference(expected);
    } catch (const Error& error) {
        return error.what();  // for example an invalid token
    }
}

class EmulatedDeviceBugs : public ::testing::TestWithParam<LateBug> {};

TEST_P(EmulatedDeviceBugs, FindsTheMistake) {
    ASSERT_TRUE(tests_on_emulated_device()) << "the host's streams are never late";
    ASSERT_EQ(world().size(), 1);  // a rejected rank would leave the others waiting
    const NvmeFolder folder;
    std::string printed;
    for (std::uint64_t seed = 1; seed <= num_decks && printed.empty(); ++seed) {
        printed = finding_in(random_deck_of_tiers(seed, 1, folder.path()), GetParam());
        if (!printed.empty()) {
            std::cout << "seed " << seed << ": " << printed << '\n';
        }
    }
    EXPECT_NE(printed, "") << "in " << num_decks << " decks";
}

TEST(StrayingDevice, ThatKeepsAllOrderIsRight) {
    const NvmeFolder folder;
    const auto deck = random_deck_of_tiers(1, 1, folder.path());
    EXPECT_EQ(finding_in(deck, {.name = "NoMistake", .strays = KeptOrder::all}), "");
}

INSTANTIATE_TEST_SUITE_P(
    PlantedBugs,
    EmulatedDeviceBugs,
    ::testing::Values(LateBug{"ComputeDoesNotWaitForCopies", compute_before_copies},
                      LateBug{"CopiesDoNotWaitForWhatIsComputed", copy_before_computed},
                      LateBug{"MemoryIsWrittenUnderItsReaders", reuse_under_readers},
                      LateBug{"MemoryIsWrittenUnderItsCopies", reuse_under_copies},
                      LateBug{"NobodyWaitsForKernelsOnTheWrongStream", nullptr, KeptOrder::after},
                      LateBug{"KernelsOnTheWrongStreamWaitForNobody", nullptr, KeptOrder::in_front},
                      LateBug{"OneWaitIsMissing", forget_one_wait}),
    [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace ziggurat::test
