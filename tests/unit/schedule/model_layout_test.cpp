#include "schedule/model_layout.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

using Units = std::vector<UnitId>;

spec::RunSpec staged(const std::string& family, int layers, int stages, int chunks) {
    auto spec = test::small_spec(family);
    spec.model.layers = layers;
    spec.parallel.stages = stages;
    spec.parallel.chunks_per_stage = chunks;
    spec.parallel.ranks = stages;
    return spec;
}

TEST(ModelLayout, SpreadsLayersEvenlyWhereTheHeadCostsLittle) {
    const auto spec = staged("llama", 5, 3, 1);

    EXPECT_EQ((ModelLayout{spec, 0}.chunk_units), (std::vector<Units>{{0, 1, 2}}));
    EXPECT_EQ((ModelLayout{spec, 1}.chunk_units), (std::vector<Units>{{3, 4}}));
    EXPECT_EQ((ModelLayout{spec, 2}.chunk_units), (std::vector<Units>{{5, 6}}));
}

TEST(ModelLayout, SpreadsLayersAsTheRunSays) {
    auto spec = staged("llama", 6, 2, 2);
    spec.parallel.stage_layers = {3, 1, 1, 1};

    EXPECT_EQ((ModelLayout{spec, 0}.chunk_units), (std::vector<Units>{{0, 1, 2, 3}, {5}}));
    EXPECT_EQ((ModelLayout{spec, 1}.chunk_units), (std::vector<Units>{{4}, {6, 7}}));
}

TEST(ModelLayout, DealsVirtualStagesOutInTurn) {
    const auto spec = staged("llama", 4, 2, 2);

    EXPECT_EQ((ModelLayout{spec, 0}.chunk_units), (std::vector<Units>{{0, 1}, {3}}));
    EXPECT_EQ((ModelLayout{spec, 1}.chunk_units), (std::vector<Units>{{2}, {4, 5}}));
    EXPECT_EQ((ModelLayout{spec, 1}.virtual_stage(1)), 3);
}

TEST(ModelLayout, BringsACopyOfATiedTableToTheLastStage) {
    const auto spec = staged("gpt2", 4, 2, 1);
    const ModelLayout first{spec, 0};
    const ModelLayout last{spec, 1};

    EXPECT_EQ(first.units, (Units{0, 1, 2}));
    EXPECT_EQ(last.units, (Units{3, 4, 5, 0}));
    EXPECT_TRUE(first.counts(0, 0));
    EXPECT_FALSE(last.counts(0, 0));
    EXPECT_FALSE(first.has_copy_of_embedding());
    EXPECT_TRUE(last.has_copy_of_embedding());
}

TEST(ModelLayout, KeepsOneTableOnASingleStage) {
    const ModelLayout model{staged("gpt2", 2, 1, 1), 0};

    EXPECT_EQ(model.units, (Units{0, 1, 2, 3}));
    EXPECT_FALSE(model.has_copy_of_embedding());
}

TEST(ModelLayout, CountsASharedHeadOfKeysOnTheFirstRankThatHasIt) {
    auto spec = test::small_spec("llama");  // 4 query heads, 2 heads of keys
    spec.parallel.tensor = 4;
    spec.parallel.data = 2;
    spec.parallel.ranks = 8;
    for (int rank = 0; rank < 8; ++rank) {
        const ModelLayout model{spec, rank};
        const auto& parameters = model.table.units[1].parameters;
        for (std::size_t p = 0; p < parameters.size(); ++p) {
            const auto& parameter = parameters[p];
            const bool is_replicated = parameter.tensor_dim < 0;
            const bool is_shared = parameter.name.find("attention.k") != std::string::npos ||
                                   parameter.name.find("attention.v") != std::string::npos;
            const int ranks_on_device = is_replicated ? 4 : is_shared ? 2 : 1;
            EXPECT_EQ(model.counts(1, static_cast<int>(p)), rank % ranks_on_device == 0) << parameter.name;
            std::vector<int> members;
            for (int member = rank / ranks_on_device * ranks_on_device; std::ssize(members) < ranks_on_device;
                 ++member) {
                members.push_back(member);
            }
            EXPECT_EQ(model.slice_members(parameter), members) << parameter.name << " of rank " << rank;
        }
    }
}

TEST(ModelLayout, HasOtherSequencesForTurnedValuesOfACube) {
    auto spec = test::small_spec("gpt2");
    auto& parallel = spec.parallel;
    parallel.tensor_mode = spec::TensorMode::three_d;
    parallel.tensor = parallel.tensor_rows = parallel.tensor_depth = 2;
    parallel.data = 4;
    parallel.ranks = 16;
    const ModelLayout model{spec, 13};  // column 1, row 0, layer 1 of the second cube
    EXPECT_EQ(model.sequence_group, 6);
    EXPECT_EQ(model.turned_group, 7);
    EXPECT_TRUE(model.counts_losses());
    EXPECT_FALSE((ModelLayout{spec, 14}.counts_losses()));

    const auto holders = [&](const char* name) {
        const auto& parameters = model.table.units[1].parameters;
        const auto at =
            std::ranges::find(parameters, std::string{"layers.0."} + name, &layout::Parameter::name);
        return model.slice_members(*at);
    };
    EXPECT_EQ(holders("attention.q.weight"), (std::vector<int>{13}));
    EXPECT_EQ(holders("attention.q.bias"), (std::vector<int>{12, 13}));
    EXPECT_EQ(holders("attention.out.bias"), (std::vector<int>{13, 15}));
}

TEST(ModelLayout, CountsReplicasOverTheTensorAxisOnce) {
    auto spec = test::small_spec("gpt2");
    spec.parallel.tensor = spec.parallel.ranks = 2;
    const ModelLayout first{spec, 0};
    const ModelLayout second{spec, 1};

    for (int p = 0; p < static_cast<int>(first.table.units[1].parameters.size()); ++p) {
        const bool is_sliced = first.table.units[1].parameters[static_cast<std::size_t>(p)].tensor_dim >= 0;
        EXPECT_TRUE(first.counts(1, p));
        EXPECT_EQ(second.counts(1, p), is_sliced);
    }
}

TEST(ModelLayout, CutsSequencesOverTheContextAxis) {
    auto spec = test::small_spec();
    spec.parallel.context = 2;
    spec.parallel.context_kind = spec::ContextKind::ulysses;
    spec.parallel.data = spec.parallel.ranks = 4;
    const ModelLayout model{spec, 3};

    EXPECT_EQ(model.tokens, 2 * 16 / 2);
    EXPECT_EQ(model.positions, (layout::ContextRows{8, 8, 8, 16}));
    EXPECT_EQ(model.sequence_group, 1);
    EXPECT_EQ(model.data_rank, 3);
}

TEST(ModelLayout, NamesGroupsOfDataRanksByWorldRanks) {
    auto spec = test::small_spec("llama", 4);
    spec.parallel.tensor = 2;
    spec.parallel.ranks = 8;
    const ModelLayout model{spec, 5};  // tensor rank 1, data rank 2

    EXPECT_EQ(model.data_members(1, 4), (std::vector<int>{1, 3, 5, 7}));
    EXPECT_EQ(model.data_members(2, 4), (std::vector<int>{1, 5}));
    EXPECT_EQ(model.data_members(1, 2), (std::vector<int>{5, 7}));
}

TEST(ModelLayout, RefusesMoreStagesThanLayers) {
    EXPECT_THROW((ModelLayout{staged("llama", 2, 3, 1), 0}), Error);
}

}  // namespace
}  // namespace ziggurat::schedule
