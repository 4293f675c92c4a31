#include "layout/state_kinds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace ziggurat::layout {
namespace {

using spec::DType;

/// Returns a run that computes in `type`, with or without an average of its weights.
spec::RunSpec run_in(DType type, bool has_average = false) {
    spec::RunSpec run;
    run.precision.compute = type;
    run.train.average.decay = has_average ? 0.9 : 0;
    return run;
}

/// Returns the bytes per parameter of the kinds of trained tensors.
std::int64_t bytes_per_parameter(const spec::RunSpec& run) {
    std::int64_t bytes = 0;
    for (const auto kind : state_kinds) {
        bytes +=
            is_kept(kind, run) && !is_of_frozen(kind) ? spec::element_bytes(type_of(kind, run.precision)) : 0;
    }
    return bytes;
}

/// Returns the kinds for which `holds` is true.
template <class Predicate>
std::vector<StateKind> kinds_where(const Predicate& holds) {
    std::vector<StateKind> found;
    std::ranges::copy_if(state_kinds, std::back_inserter(found), holds);
    return found;
}

TEST(StateKinds, AreTheEnumeratorsInTheirOrderWithNamesOfTheirOwn) {
    std::set<std::string> names;

    for (int k = 0; k < num_state_kinds; ++k) {
        EXPECT_EQ(static_cast<int>(state_kinds[static_cast<std::size_t>(k)]), k + 1);
        names.insert(to_string(state_kinds[static_cast<std::size_t>(k)]));
    }

    EXPECT_EQ(std::ssize(names), num_state_kinds);
    EXPECT_EQ(names.count(""), 0u);
    EXPECT_STREQ(to_string(StateKind::none), "");
}

TEST(StateKinds, TakeSixteenBytesPerParameterInF32AndEighteenInBf16) {
    EXPECT_EQ(bytes_per_parameter(run_in(DType::f32)), 16);
    EXPECT_EQ(bytes_per_parameter(run_in(DType::bf16)), 18);
    EXPECT_EQ(bytes_per_parameter(run_in(DType::bf16, true)), 22) << "an average in float32";
}

TEST(StateKinds, AreSavedOnceAsEachPieceOfATensor) {
    for (const auto type : {DType::f32, DType::bf16}) {
        const auto run = run_in(type, true);
        for (const bool is_frozen : {false, true}) {
            std::multiset<PieceKind> pieces;
            for (const auto kind : state_kinds) {
                if (is_kept(kind, run) && is_of_frozen(kind) == is_frozen &&
                    piece_of(kind, masters_of(run))) {
                    pieces.insert(*piece_of(kind, masters_of(run)));
                }
            }

            EXPECT_EQ(pieces.count(PieceKind::weights), 1u);
            EXPECT_EQ(pieces.size(), std::set(pieces.begin(), pieces.end()).size());
        }
    }
}

TEST(StateKinds, AreReadFromACheckpointJustWhereOneHasThem) {
    for (const auto kind : state_kinds) {
        SCOPED_TRACE(to_string(kind));
        const auto row = row_of(kind);
        EXPECT_EQ(is_restored(kind), row.piece.has_value());
        EXPECT_EQ(row.start == InitialContent::written, row.restore == Restore::written);
        EXPECT_EQ(row.start == InitialContent::drawn,
                  row.piece == PieceKind::weights || row.piece == PieceKind::average);
        EXPECT_TRUE(row.presence != Presence::within_step || !row.piece);
    }
}

TEST(StateKinds, HaveTheMasterSavedInThePlaceOfWhatIsRoundedFromIt) {
    const auto rounded = kinds_where(
        [](StateKind kind) { return piece_of(kind, Masters::none) && !piece_of(kind, Masters::rounded); });

    EXPECT_EQ(rounded, std::vector{StateKind::parameters});
    EXPECT_EQ(piece_of(StateKind::master, Masters::rounded), PieceKind::weights);
}

TEST(StateKinds, HaveParametersSavedNextToAMasterThatIsAhead) {
    const auto others = kinds_where(
        [](StateKind kind) { return piece_of(kind, Masters::ahead) != piece_of(kind, Masters::none); });

    EXPECT_EQ(others, std::vector{StateKind::parameters});
    EXPECT_EQ(piece_of(StateKind::parameters, Masters::ahead), PieceKind::delayed_weights);
    EXPECT_EQ(piece_kind_named("delayed_weights"), PieceKind::delayed_weights);
    for (const auto type : {DType::f32, DType::bf16}) {
        auto run = run_in(type);
        run.overlap.delayed_update = true;
        EXPECT_EQ(masters_of(run), Masters::ahead);
        EXPECT_TRUE(is_kept(StateKind::master, run));
    }
}

TEST(StateKinds, ArePiecesWithNamesThatAreReadBack) {
    for (const auto kind : state_kinds) {
        if (const auto piece = row_of(kind).piece) {
            EXPECT_EQ(piece_kind_named(to_string(*piece)), piece);
        }
    }
    EXPECT_EQ(piece_kind_named("gradients"), std::nullopt);
    EXPECT_EQ(piece_kind_named(""), std::nullopt);
}

TEST(StateKinds, OfFrozenTensorsAreParametersInTheirComputeType) {
    const auto frozen = kinds_where(is_of_frozen);

    EXPECT_EQ(frozen, std::vector{StateKind::frozen});
    EXPECT_EQ(type_of(StateKind::frozen, {.compute = DType::bf16}), DType::bf16);
    EXPECT_EQ(row_of(StateKind::frozen).group, StateGroup::parameters);
}

TEST(StateKinds, AreCutOverTheShardDegreeOfTheirGroup) {
    const Spans spans{.parameters = 2, .gradients = 4, .optimizer = 8, .data = 16};
    std::vector<int> degrees;

    for (const auto kind : kinds_where([](StateKind k) { return is_kept(k, run_in(DType::bf16, true)); })) {
        degrees.push_back(shard_degree(kind, spans));
    }

    EXPECT_EQ(degrees, (std::vector{2, 2, 4, 8, 8, 8, 8}));
}

TEST(StateKinds, HaveTheHomeOfTheirGroupUnlessTheyLiveWithinAStep) {
    const spec::Tiers tiers;

    EXPECT_EQ(home_of(StateKind::frozen, tiers), &tiers.parameters);
    EXPECT_EQ(home_of(StateKind::gradients, tiers), &tiers.gradients);
    EXPECT_EQ(home_of(StateKind::master, tiers), &tiers.optimizer);
    EXPECT_EQ(home_of(StateKind::none, tiers), nullptr);
    for (const auto kind : state_kinds) {
        EXPECT_EQ(home_of(kind, tiers) == nullptr, !is_kept(kind, run_in(DType::bf16, true)));
    }
}

}  // namespace
}  // namespace ziggurat::layout
