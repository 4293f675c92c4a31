#include "tests/unit/deck/tiny_deck.hpp"

namespace ziggurat::deck {
namespace {

using Unusual = TinyDeck;

bool says(const LoadedDeck& loaded, const std::string& text) {
    return loaded.found.print().find(text) != std::string::npos;
}

TEST_F(Unusual, AHighLearningRateIsWarnedOf) {
    const auto loaded = load(without_gpus, {"optimizer.lr=3"});
    EXPECT_TRUE(loaded.ok());
    EXPECT_TRUE(says(loaded, ": optimizer.lr = 3 (AdamW changes each weight")) << loaded.found.print();
    EXPECT_FALSE(says(load(without_gpus, {"optimizer.lr=1e-2"}), "optimizer.lr"));
}

TEST_F(Unusual, RatesOfFullWeightsAreTooLowForAdapters) {
    const auto loaded = load(without_gpus, {"train.lora.rank=4", "optimizer.lr=1e-5"});
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_TRUE(says(loaded, ": optimizer.lr = 1e-05 with train.lora (adapters usually need about ten times"))
        << loaded.found.print();
    EXPECT_FALSE(says(load(without_gpus, {"train.lora.rank=4", "optimizer.lr=2e-5"}), "optimizer.lr"));
    EXPECT_FALSE(says(load(without_gpus, {"optimizer.lr=1e-5"}), "optimizer.lr"))
        << "all weights are trained";
}

TEST_F(Unusual, RatesOfOtherJobsAreTooHighForPreferences) {
    options_.needs_data = false;
    const auto with = [&](std::vector<std::string> settings) {
        settings.insert(settings.end(), {"train.objective=ipo", "data.tokenizer=none", "model.vocab=100",
                                         "data.train=[{format: chat, path: none.samples}]"});
        auto loaded = load(without_gpus, settings);
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded;
    };
    EXPECT_TRUE(says(with({"optimizer.lr=3e-4"}),
                     ": optimizer.lr = 0.0003 with train.objective.kind = ipo (full weights move far"));
    EXPECT_FALSE(says(with({"optimizer.lr=9e-5"}), "optimizer.lr = "));
    EXPECT_FALSE(says(with({"optimizer.lr=3e-4", "train.lora.rank=4"}), "optimizer.lr = "));
    EXPECT_FALSE(says(with({"optimizer.lr=5e-6", "train.lora.rank=4"}), "optimizer.lr = "))
        << "usual for both";
}

TEST_F(Unusual, AThousandIsNoPowerOfTwo) {
    const auto loaded = load(without_gpus, {"data.seq=1k"});
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_TRUE(says(loaded, ": data.seq = 1k is 1,000 tokens (k is a thousand). 1024 would be"))
        << loaded.found.print();
    EXPECT_FALSE(says(load(without_gpus, {"data.seq=1024"}), "is a thousand"));
}

TEST_F(Unusual, SectionsTakeTheirMainKeyAlone) {
    const auto loaded = load(without_gpus, {"precision=fp32", "sharding=0", "logging=5 steps", "run=short",
                                            "checkpoint=20 steps", "schedule=constant", "recompute=full"});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.precision.compute, spec::DType::f32);
    EXPECT_EQ(loaded.run.logging.every.steps, 5);
    EXPECT_EQ(loaded.run.run.name, "short");
    EXPECT_EQ(loaded.run.schedule.kind, spec::ScheduleKind::constant);
    EXPECT_EQ(load(without_gpus, {"model=gpt2-124m"}).run.model.layers, 2) << "what is written wins";
}

}  // namespace
}  // namespace ziggurat::deck
