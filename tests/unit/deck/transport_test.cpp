/// parallel.transport: transport of GPU vectors, by the deck, the build and the sharing of ranks.
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

class Transport : public TinyDeck {
  protected:
    Transport() {
        options_.ranks = 2;
        options_.has_nccl = true;
    }

    LoadedDeck load(const std::vector<std::string>& overrides = {}) {
        return TinyDeck::load(machine_, overrides);
    }
    /// Checks the choice of auto, and its reason.
    void expect_auto(spec::Transport transport, const std::string& keyword, const std::string& reason) {
        const auto loaded = load();
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(loaded.run.parallel.transport, transport);
        EXPECT_NE(loaded.effective.find("transport: " + keyword), std::string::npos) << loaded.effective;
        EXPECT_NE(loaded.effective.find(reason), std::string::npos) << loaded.effective;
    }
    void expect_refused(const std::string& sentence, const std::vector<std::string>& more = {}) {
        std::vector<std::string> overrides{"parallel.transport=nccl"};
        overrides.insert(overrides.end(), more.begin(), more.end());
        const auto loaded = load(overrides);
        EXPECT_EQ(loaded.found.exit_code(), static_cast<int>(ErrorKind::deck));
        ASSERT_FALSE(loaded.ok());
        EXPECT_EQ(loaded.found.sorted().front().sentence(), sentence);
    }

    spec::MachineSpec machine_ = with_gpus;
};

TEST_F(Transport, IsNcclWhereEachRankHasAGpu) {
    expect_auto(spec::Transport::nccl, "nccl", "each rank has a GPU of its own");
    EXPECT_EQ(load({"parallel.transport=nccl"}).run.parallel.transport, spec::Transport::nccl);
    EXPECT_EQ(load({"parallel.transport=staged"}).run.parallel.transport, spec::Transport::staged);
}

TEST_F(Transport, IsStagedWhereRanksShareAGpu) {
    options_.ranks_per_device = 2;
    expect_auto(spec::Transport::staged, "staged", "2 ranks share a GPU");
    expect_refused(
        "NCCL cannot be used (2 ranks share a GPU, and NCCL needs one per rank). Start one rank per GPU, or "
        "set transport: staged.");
}

TEST_F(Transport, IsStagedWhereTheBuildHasNoNccl) {
    options_.has_nccl = false;
    expect_auto(spec::Transport::staged, "staged", "built without it");
    expect_refused(
        "NCCL cannot be used (this program was built without it). Build it with NCCL, or set transport: "
        "staged.");
}

TEST_F(Transport, IsStagedWhereTheHostComputes) {
    machine_ = without_gpus;
    expect_auto(spec::Transport::staged, "staged", "the host's cores compute");
    expect_refused(
        "NCCL cannot be used (the host's cores compute, and NCCL needs GPUs). Set transport: auto.");
    machine_ = with_gpus;
    expect_refused(
        "NCCL cannot be used (the host's cores compute, and NCCL needs GPUs). Set transport: auto.",
        {"tiers.device.kind=host"});
}

TEST_F(Transport, IsOfNoUseForOneRank) {
    options_.ranks = 1;
    expect_auto(spec::Transport::staged, "staged", "one rank: no communication");
}

TEST_F(Transport, IsJudgedInNoRecord) {
    options_.as_record = true;
    machine_ = without_gpus;
    const auto loaded = load({"parallel.transport=nccl"});
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.parallel.transport, spec::Transport::staged);
}

}  // namespace
}  // namespace ziggurat::deck
