/// Changes proposed by a plan are valid overrides of the deck, and produce the planned run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "deck/load.hpp"
#include "layout/cuda_workspaces.hpp"
#include "layout/stage_layers.hpp"
#include "plan/search/changes.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* text =
    "deck_version: 1\n"
    "model: {family: llama, layers: 12, hidden: 96, heads: 12, kv_heads: 4, ffn_hidden: 192, max_seq: 48}\n"
    "data: {tokenizer: bytes, seq: 48, train: [{format: text, path: none.txt}]}\n"
    "train: {steps: 10, global_batch: 64, micro_batch: 4}\n";

class Remedies : public ::testing::Test {
  protected:
    LoadedDeck load(const std::vector<std::string>& overrides, int ranks) const {
        const spec::MachineSpec machine{.name = "test",
                                        .has_device = true,
                                        .ranks_per_node = 8,
                                        .cores_per_node = 64,
                                        .device_bytes = layout::CudaWorkspaces::library_bytes + (64LL << 20),
                                        .host_bytes = 64LL << 30,
                                        .nvme_bytes = 0};
        return load_text(text, "deck", overrides, {.ranks = ranks, .machine = machine, .needs_data = false});
    }

    void expect_changes_to_load(const std::vector<std::string>& overrides) {
        SCOPED_TRACE(::testing::PrintToString(overrides));
        const auto loaded = load(overrides, 16);
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        for (const auto& change : plan::cheaper_runs(loaded.run)) {
            SCOPED_TRACE(change.overrides);
            auto all = overrides;
            for (auto& argument : plan::arguments_of(change.overrides)) {
                all.push_back(std::move(argument));
            }
            const auto changed = load(all, change.spec.parallel.ranks);
            ASSERT_TRUE(changed.ok()) << changed.found.print();
            expect_same(changed.run, change.spec);
            overrides_ += change.overrides;
        }
    }

    std::string overrides_;  ///< overrides of all changes

  private:
    static void expect_same(const spec::RunSpec& loaded, const spec::RunSpec& planned) {
        const auto& a = loaded.parallel;
        const auto& b = planned.parallel;
        EXPECT_EQ((std::vector{a.tensor, a.context, a.data, a.stages, a.chunks_per_stage, int{a.sequence}}),
                  (std::vector{b.tensor, b.context, b.data, b.stages, b.chunks_per_stage, int{b.sequence}}));
        EXPECT_EQ(a.pipeline_schedule, b.pipeline_schedule);
        EXPECT_EQ(layout::stage_layers(loaded), layout::stage_layers(planned));
        EXPECT_EQ(loaded.train.micro_batches, planned.train.micro_batches);
        EXPECT_EQ(
            (std::vector{loaded.sharding.parameters, loaded.sharding.gradients, loaded.sharding.optimizer}),
            (std::vector{planned.sharding.parameters, planned.sharding.gradients,
                         planned.sharding.optimizer}));
        EXPECT_EQ(loaded.recompute, planned.recompute);
        EXPECT_EQ(loaded.optimizer.clip, planned.optimizer.clip);
        EXPECT_EQ(loaded.overlap.optimizer_with_backward, planned.overlap.optimizer_with_backward);
        EXPECT_EQ(loaded.tiers.tiles, planned.tiers.tiles);
    }
};

TEST_F(Remedies, OfDataRanksLoad) {
    expect_changes_to_load({});
    for (const auto* axis : {" parallel.tensor=2 ", " parallel.tensor=4 ", "stages: 2,", "stages: 4,"}) {
        EXPECT_NE(overrides_.find(axis), std::string::npos) << axis << " of " << overrides_;
    }
    expect_changes_to_load({"parallel.data=16", "sharding.zero=3", "sharding.sum_group=16"});
    expect_changes_to_load({"sharding.parameters=1", "sharding.gradients=16", "sharding.optimizer=16"});
    expect_changes_to_load({"sharding.parameters=4", "sharding.gradients=4", "sharding.optimizer=16"});
}

TEST_F(Remedies, OfSecondSlotsLoad) {
    const std::vector<std::string> speculative{"overlap.optimizer_with_backward=true",
                                               "optimizer.clip.policy=speculate", "tiers.home.optimizer=host",
                                               "tiers.home.gradients=host"};
    expect_changes_to_load(speculative);
    EXPECT_NE(overrides_.find(" optimizer.clip.policy=previous_norm"), std::string::npos) << overrides_;
    EXPECT_NE(overrides_.find(" overlap.optimizer_with_backward=false"), std::string::npos) << overrides_;
}

TEST_F(Remedies, OfTensorRanksLoad) {
    expect_changes_to_load({"parallel.tensor=2", "sharding.zero=1"});
    for (const auto* change : {" parallel.sequence=true", " recompute.split=true"}) {
        EXPECT_NE(overrides_.find(change), std::string::npos) << change << " of " << overrides_;
    }
    expect_changes_to_load({"parallel.tensor=4", "recompute.kind=full"});
    expect_changes_to_load({"parallel.tensor=4", "recompute={kind: selective, split: true}"});
    expect_changes_to_load({"parallel.tensor=2", "parallel.sequence=true", "data.seq=6"});
    expect_changes_to_load({"parallel.tensor=2", "data.seq=7"});
    expect_changes_to_load({"parallel.tensor=2", "parallel.order=[data, tensor, context, pipeline]"});
}

TEST_F(Remedies, OfStagesLoad) {
    expect_changes_to_load({"parallel.pipeline=2", "sharding.zero=3", "model.tie_embeddings=true"});
    EXPECT_NE(overrides_.find(" 'parallel.pipeline.each=["), std::string::npos) << overrides_;
    EXPECT_NE(overrides_.find("layers.*"), std::string::npos) << overrides_;
    expect_changes_to_load(
        {"parallel.pipeline={stages: 2, schedule: interleaved, chunks_per_stage: 2, each: [{layers: [1, 9]}, "
         "{layers: [1, 1]}]}"});
    EXPECT_NE(overrides_.find(" parallel.pipeline.each=auto"), std::string::npos) << overrides_;
    expect_changes_to_load(
        {"model.tie_embeddings=true", "sharding.zero=3", "tiers.tile=[{match: embedding.token, out: 2}]"});
    expect_changes_to_load({"parallel.pipeline={stages: 1, each: [{layers: 12}]}"});
}

}  // namespace
}  // namespace ziggurat::deck
