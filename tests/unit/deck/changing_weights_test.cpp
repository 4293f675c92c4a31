/// Weights of sources that change at given steps.
#include "tests/unit/deck/load_fixture.hpp"

#include "deck/effective.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::deck {
namespace {

using Changes = std::vector<spec::WeightChange>;

class ChangingWeights : public Load {
  protected:
    /// Returns the override of two sources, of which the first has `weight`.
    std::string sources(const std::string& weight) const {
        const std::string source = "{format: text, path: '" + (folder_ / "text.txt").string() + "'";
        return "data.train=[" + source + ", weight: " + weight + "}, " + source + "}]";
    }
};

TEST_F(ChangingWeights, AreReadFromPairs) {
    const auto data = run("", {sources("[[0, 0.7], [1k, 0], [20k, 2.5]]"), "train.steps=30k"}).data;

    EXPECT_EQ(0.7, data.train[0].weight);
    EXPECT_EQ((Changes{{1000, 0}, {20000, 2.5}}), data.train[0].weight_changes);
    EXPECT_EQ(1, data.train[1].weight);
    EXPECT_EQ(Changes{}, data.train[1].weight_changes);
    EXPECT_EQ(3, run("", {sources("3")}).data.train[0].weight);
}

TEST_F(ChangingWeights, CanBeOverriddenAndMayBeginWithZero) {
    const auto data = run("", {sources("3"), "data.train[0].weight=[[0, 0], [5, 2]]"}).data;

    EXPECT_EQ(0, data.train[0].weight);
    EXPECT_EQ((Changes{{5, 2}}), data.train[0].weight_changes);
}

TEST_F(ChangingWeights, AreInTheEffectiveDeck) {
    const auto loaded = load_base("", {sources("[[0, 0.7], [20, 0]]")});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_NE(std::string::npos, loaded.effective.find("weight: [[0, 0.7], [20, 0]]")) << loaded.effective;

    LoadOptions options{.ranks = 1};
    options.machine = machine_;
    const auto again = load_text(loaded.effective, (folder_ / "deck.effective.yaml").string(), {}, options);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(loaded.run.data.train, again.run.data.train);
}

TEST_F(ChangingWeights, HaveNoEffectOnOneSource) {
    const auto warnings = [&](const std::string& weight) {
        return load_base("", {"data.train[0].weight=" + weight}).found.print().find("there is one source") !=
               std::string::npos;
    };
    EXPECT_FALSE(warnings("1"));
    EXPECT_TRUE(warnings("2"));
    EXPECT_TRUE(warnings("[[0, 1], [5, 2]]"));
}

}  // namespace
}  // namespace ziggurat::deck
