/// tiers.host.pinned: amount of page-locked host memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "spec/budgets.hpp"
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using testing::HasSubstr;

class Pinned : public TinyDeck {
  protected:
    std::int64_t bytes(const spec::MachineSpec& machine, const std::vector<std::string>& overrides = {}) {
        const auto loaded = load(machine, overrides);
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(loaded.found.warnings(), 0u) << loaded.found.print();
        return loaded.run.tiers.pinned_bytes;
    }
};

TEST_F(Pinned, IsAllWhereGpusCopyAndNothingWhereTheHostComputes) {
    EXPECT_EQ(bytes(with_gpus), spec::unlimited);
    EXPECT_EQ(bytes(without_gpus), 0);
    EXPECT_EQ(bytes(with_gpus, {"tiers.device.kind=host"}), 0);
    EXPECT_THAT(load(with_gpus).effective, HasSubstr("pinned: all"));
    EXPECT_THAT(load(without_gpus).effective, HasSubstr("pinned: none"));
}

TEST_F(Pinned, IsAsMuchAsTheDeckSays) {
    EXPECT_EQ(bytes(with_gpus, {"tiers.host.pinned=none"}), 0);
    EXPECT_EQ(bytes(with_gpus, {"tiers.host.pinned=all"}), spec::unlimited);
    EXPECT_EQ(bytes(with_gpus, {"tiers.host.pinned=3GiB"}), 3 * gib);
    EXPECT_EQ(bytes(with_gpus, {"tiers.host.pinned=25%"}), 25 * gib);
    EXPECT_EQ(bytes(without_gpus, {"tiers.host.pinned=none"}), 0);
}

TEST_F(Pinned, IsSharedByTheRanksOfANode) {
    spec::RunSpec run;
    run.parallel.ranks_per_node = 4;
    EXPECT_EQ(spec::pinned_bytes_of_rank(run), spec::unlimited);
    run.tiers.pinned_bytes = 8 * gib;
    EXPECT_EQ(spec::pinned_bytes_of_rank(run), 2 * gib);
}

TEST_F(Pinned, HasNoEffectWhereTheHostComputes) {
    for (const auto* setting : {"tiers.host.pinned=all", "tiers.host.pinned=3GiB"}) {
        const auto loaded = load(without_gpus, {setting});
        EXPECT_TRUE(loaded.ok());
        EXPECT_EQ(loaded.found.warnings(), 1u);
        EXPECT_THAT(loaded.found.print(), HasSubstr("tiers.host.pinned has no effect"));
    }
}

}  // namespace
}  // namespace ziggurat::deck
