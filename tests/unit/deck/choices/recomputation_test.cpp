/// Recomputation `auto` with recompute.every: only full recomputation keeps a spacing.
#include <string>
#include <vector>

#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using enum spec::RecomputeKind;

class AutoRecomputation : public TinyDeck {
  protected:
    /// Loads a deck whose recomputation becomes `kinds`, one for each stage.
    LoadedDeck load_with(const std::vector<spec::RecomputeKind>& kinds, std::vector<std::string> overrides) {
        options_.ranks = static_cast<int>(kinds.size());
        options_.choose_homes = [kinds](spec::RunSpec run, const spec::MachineSpec&) {
            run.recompute.kind = kinds.front();
            run.recompute.is_auto = false;
            for (std::size_t stage = 0; stage < run.stages.size(); ++stage) {
                run.stages[stage].recompute.kind = kinds[stage];
                run.stages[stage].recompute.is_auto = false;
            }
            return run;
        };
        overrides.emplace_back("recompute={kind: auto, every: 2}");
        return load(without_gpus, overrides);
    }

    void expect_deck(const LoadedDeck& loaded) {
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        const auto again = load_text(loaded.effective, "effective", {}, options_);
        ASSERT_TRUE(again.ok()) << again.found.print() << loaded.effective;
        EXPECT_EQ(again.run, loaded.run);
    }
};

TEST_F(AutoRecomputation, KeepsTheSpacingIfItIsFull) {
    const auto loaded = load_with({full}, {});

    expect_deck(loaded);
    EXPECT_EQ(loaded.run.recompute.every, 2);
}

TEST_F(AutoRecomputation, HasNoSpacingIfItIsNotFull) {
    for (const auto kind : {none, selective}) {
        const auto loaded = load_with({kind}, {});

        expect_deck(loaded);
        EXPECT_EQ(loaded.run.recompute.every, 1);
        EXPECT_NE(loaded.effective.find(": recompute.kind is not full"), std::string::npos)
            << loaded.effective;
    }
}

TEST_F(AutoRecomputation, HasTheSpacingOfItsStages) {
    for (const auto& kinds : std::vector<std::vector<spec::RecomputeKind>>{{none, full}, {full, selective}}) {
        const auto loaded = load_with(kinds, {"parallel.pipeline=2"});

        expect_deck(loaded);
        ASSERT_EQ(loaded.run.stages.size(), 2U);
        EXPECT_EQ(loaded.run.stages[kinds[0] == full ? 0 : 1].recompute.every, 2);
        EXPECT_EQ(loaded.run.stages[kinds[0] == full ? 1 : 0].recompute.every, 1);
    }
}

}  // namespace
}  // namespace ziggurat::deck
