#include "doctor/merge.hpp"

#include <gtest/gtest.h>

namespace ziggurat::doctor {
namespace {

/// Returns two ranks on each node; the first rank of a node has its node diagnoses.
std::vector<RankDiagnoses> on_nodes(int nodes) {
    std::vector<RankDiagnoses> ranks(2 * static_cast<std::size_t>(nodes));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        ranks[rank].node = static_cast<int>(rank / 2);
        ranks[rank].host = "vm" + std::to_string(rank / 2);
    }
    return ranks;
}

TEST(Merge, SaysNothingOfPlacesWhereThereIsOne) {
    const auto found = ok_diagnosis("open files", "1,024 may be open", Scope::rank);
    EXPECT_EQ(merge({{.host = "vm", .found = {found}}}), Diagnoses{found});

    auto ranks = on_nodes(1);
    ranks[0].found = {ok_diagnosis("memory", "64 GiB")};
    EXPECT_EQ(merge(ranks), ranks[0].found);
}

TEST(Merge, MakesOneOfWhatAllRanksFind) {
    auto ranks = on_nodes(2);
    for (auto& rank : ranks) {
        rank.found = {warning("open files", "64 may be open", "Raise it.", Scope::rank)};
    }

    const auto all = merge(ranks);

    ASSERT_EQ(all.size(), 1);
    EXPECT_EQ(all[0].found, "64 may be open (on all 4 ranks)");
    EXPECT_EQ(all[0].remedy, "Raise it.");
}

TEST(Merge, NamesTheFirstFewPlaces) {
    auto ranks = on_nodes(6);
    for (std::size_t rank = 2; rank < ranks.size(); ++rank) {
        ranks[rank].found = {ok_diagnosis("open files", "64", Scope::rank)};
    }
    ranks[1].found = {ok_diagnosis("locked memory", "8", Scope::rank)};
    for (std::size_t rank = 4; rank < ranks.size(); rank += 2) {
        ranks[rank].found.push_back(ok_diagnosis("memory", "64 GiB"));
    }

    const auto all = merge(ranks);

    ASSERT_EQ(all.size(), 3);
    EXPECT_EQ(all[0].found, "8 (on rank 1 of 12, vm0)");
    EXPECT_EQ(all[1].found, "64 (on 10 of 12 ranks: 2, 3, 4 and 7 more on vm1, vm2, vm3 and 2 more)");
    EXPECT_EQ(all[2].found, "64 GiB (on 4 of 6 nodes: vm2, vm3, vm4 and 1 more)");
}

TEST(Merge, ShowsTheFirstNumbersAndKeepsApartWhatIsAnother) {
    auto ranks = on_nodes(2);
    auto unchanged = ok_diagnosis("folder", "'a': 10 GiB free");
    unchanged.subject = "a";
    auto there = unchanged;
    there.found = "'a': 9 GiB free";
    auto other = unchanged;
    other.subject = "b";
    ranks[0].found = {unchanged};
    ranks[2].found = {there, other, warning("folder", "'a' is full", "Free some.")};

    const auto all = merge(ranks);

    ASSERT_EQ(all.size(), 3);
    EXPECT_EQ(all[0].found, "'a': 10 GiB free (on all 2 nodes; the first of them is shown)");
    EXPECT_EQ(all[1].subject, "b");
    EXPECT_EQ(all[2].health, Health::warning);
}

TEST(Merge, KeepsApartWhatNeedsAnotherRemedyOrIsWorse) {
    auto ranks = on_nodes(3);
    ranks[0].found = {warning("memory", "little", "Ask for more.")};
    ranks[2].found = {warning("memory", "little", "Mount more.")};
    ranks[4].found = {error("memory", "none", "Ask for more.")};

    EXPECT_EQ(merge(ranks).size(), 3);
}

}  // namespace
}  // namespace ziggurat::doctor
