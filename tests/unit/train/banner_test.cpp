#include "train/report/banner.hpp"

#include <gtest/gtest.h>

namespace ziggurat::train {
namespace {

TEST(Banner, AlignsLabelsAndContinuationLines) {
    const std::vector<BannerEntry> entries{
        {"ziggurat", "0.1.0"}, {"data", "two\nlines"}, {"empty", ""}, {"very long label", "x"}};
    EXPECT_EQ(banner(entries),
              "ziggurat  0.1.0\n"
              "data      two\n"
              "          lines\n"
              "very long label x\n");
}

TEST(DescribePlaces, JoinsNodesOfTheSameMakeUp) {
    const std::vector<RankPlace> ranks{{"node1", {0, 1}, 2},
                                       {"node1", {2, 3}, 2},
                                       {"node2", {0, 1}, 2},
                                       {"node2", {2, 3}, 2},
                                       {"node3", {0}, 1}};
    EXPECT_EQ(describe_places(ranks),
              "node1 .. node2 (2 nodes): 2 ranks with 2 threads each on 4 cores\n"
              "node3: 1 rank with 1 thread each on 1 core");
}

TEST(OversubscriptionWarnings, AreSilentWhenThreadsFit) {
    EXPECT_TRUE(
        oversubscription_warnings(std::vector<RankPlace>{{"a", {0, 1}, 1}, {"a", {0, 1}, 1}}).empty());
}

TEST(OversubscriptionWarnings, GiveTheExactRemedy) {
    const auto warnings =
        oversubscription_warnings(std::vector<RankPlace>{{"a", {0, 1, 2, 3}, 4}, {"a", {0, 1, 2, 3}, 4}});
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(
        warnings[0],
        "a has 8 threads for 4 cores, so they take turns and every step is slower. Set OMP_NUM_THREADS=2.");
}

TEST(OversubscriptionWarnings, SendRanksElsewhereWhenThereAreTooMany) {
    const RankPlace bound{.host = "a", .cores = {0}, .threads = 1, .host_cores = 2};
    const auto warnings = oversubscription_warnings(std::vector<RankPlace>{bound, bound});
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("Start at most 1 rank here, or bind ranks to more cores"), std::string::npos)
        << warnings[0];
}

TEST(OversubscriptionWarnings, OfferNoOtherCoresWhereThereAreNone) {
    const RankPlace unbound{.host = "a", .cores = {0, 1}, .threads = 1, .host_cores = 2};
    const auto warnings = oversubscription_warnings(std::vector<RankPlace>(3, unbound));
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_NE(warnings[0].find("Start at most 2 ranks here."), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace ziggurat::train
