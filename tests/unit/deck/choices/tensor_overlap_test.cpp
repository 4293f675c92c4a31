/// Pieces of tensor collectives `auto`: chosen once by the planned step, and written to the deck.
#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

class AutoTensorOverlap : public TinyDeck {
  protected:
    AutoTensorOverlap() {
        options_.ranks = 2;
        options_.choose_tensor_overlap = [this](const spec::RunSpec&, const spec::MachineSpec&) {
            ++asked_;
            return spec::TensorOverlapChoice{chosen_, "it is planned so"};
        };
    }

    LoadedDeck load_auto(const std::string& tensor) {
        return load(without_gpus, {"overlap.tensor=auto", "parallel.tensor=" + tensor});
    }

    bool chosen_ = true;
    int asked_ = 0;
};

TEST_F(AutoTensorOverlap, IsTheChoiceOfThePlanAndWrittenDown) {
    for (const bool pieces : {true, false}) {
        chosen_ = pieces;
        asked_ = 0;

        const auto loaded = load_auto("2");

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(asked_, 1);
        EXPECT_EQ(loaded.run.overlap.tensor_pieces, pieces);
        EXPECT_NE(loaded.effective.find(pieces ? "tensor: ring" : "tensor: off"), std::string::npos);
        EXPECT_NE(loaded.effective.find("auto: it is planned so"), std::string::npos);
        const auto again = load_text(loaded.effective, "effective", {}, options_);
        ASSERT_TRUE(again.ok()) << again.found.print();
        EXPECT_EQ(asked_, 1) << "it is written down";
        EXPECT_EQ(again.run, loaded.run);
    }
}

TEST_F(AutoTensorOverlap, IsTheChoiceOfThePlanForACubeButNotForAGrid) {
    options_.ranks = 8;
    for (const bool is_cube : {true, false}) {
        asked_ = 0;
        const auto loaded =
            load_auto(is_cube ? "{degree: 8, mode: 3d}" : "{degree: 8, mode: 2.5d, depth: 2}");

        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(asked_, is_cube ? 1 : 0);
        EXPECT_EQ(loaded.run.overlap.tensor_pieces, is_cube);
    }
}

TEST_F(AutoTensorOverlap, IsOffWithoutAPlanForOneTensorRank) {
    const auto loaded = load_auto("1");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(asked_, 0);
    EXPECT_FALSE(loaded.run.overlap.tensor_pieces);
}

TEST_F(AutoTensorOverlap, IsOffNextToSequenceTiles) {
    const auto loaded =
        load(without_gpus, {"overlap.tensor=auto", "parallel.tensor=2", "tiers.sequence_tiles=2"});

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(asked_, 0);
    const auto again = load_text(loaded.effective, "effective", {}, options_);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run, loaded.run);
}

TEST_F(AutoTensorOverlap, IsOffIfNoPlannerIsGiven) {
    options_.choose_tensor_overlap = {};

    EXPECT_FALSE(load_auto("2").run.overlap.tensor_pieces);
}

}  // namespace
}  // namespace ziggurat::deck
