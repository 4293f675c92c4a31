/// Decks in JSON, which quotes every text: a keyword is accepted with and without quotes.
#include <gtest/gtest.h>

#include "deck/load.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::deck {
namespace {

class JsonDecks : public ::testing::Test {
  protected:
    void SetUp() override { std::ofstream{text_} << std::string(5000, 'a'); }

    LoadedDeck load_with(const std::string& deck, const std::vector<std::string>& overrides = {}) const {
        LoadOptions options{.ranks = 2};
        options.machine = spec::MachineSpec{.name = "test",
                                            .has_device = false,
                                            .ranks_per_node = 2,
                                            .cores_per_node = 2,
                                            .host_bytes = std::int64_t{8} << 30};
        return load_text(deck, "deck", overrides, options);
    }

    test::ScratchFolder folder_;
    std::string text_ = folder_.file("text.txt");
    std::string yaml_ = R"(deck_version: 1
run: {name: small, dir: auto, resume: auto, time_limit: auto, seed: 7}
model: {family: llama, layers: 2, hidden: 32, heads: 4, kv_heads: auto, init: {from: random, path: none}}
data: {tokenizer: bytes, seq: 16, train: [{format: text, path: ')" +
                        text_ + R"('}], held_out: 10%, shuffle: false}
train: {tokens: 20k, global_batch: 8, micro_batch: 2, only: all}
validate: {every: [5 steps, 1min], batches: all, sample: {prompt: "a \"word\"", temperature: 0.5}}
sharding: {zero: 3, sum_group: flat}
tiers: {device: 25%, home: {optimizer: {device: 50%, host: rest}}, tile: off}
recompute: full
optimizer: {lr: 1.0e-3, betas: [0.9, 0.99], clip: {norm: 2.5, policy: global}}
schedule: {kind: wsd, warmup: 2 steps, decay: auto}
checkpoint: {every: auto, keep: {last: 3, milestones: none}}
debug: {throttle: none, nodes: auto}
)";
    std::string json_ = R"({
  "deck_version": 1,
  "run": {"name": "small", "dir": "auto", "resume": "auto", "time_limit": "auto", "seed": 7, "hang_timeout": null},
  "model": {"family": "llama", "layers": 2, "hidden": 32, "heads": 4, "kv_heads": "auto",
            "init": {"from": "random", "path": "none"}},
  "data": {"tokenizer": "bytes", "seq": 16, "train": [{"format": "text", "path": ")" +
                        text_ + R"("}],
           "held_out": "10%", "shuffle": false},
  "train": {"tokens": "20k", "global_batch": 8, "micro_batch": 2, "only": "all"},
  "validate": {"every": ["5 steps", "1min"], "batches": "all",
               "sample": {"prompt": "a \"word\"", "temperature": 0.5}},
  "sharding": {"zero": 3, "sum_group": "flat"},
  "tiers": {"device": "25%", "home": {"optimizer": {"device": "50%", "host": "rest"}}, "tile": "off"},
  "recompute": "full",
  "optimizer": {"lr": 1e-3, "betas": [0.9, 0.99], "clip": {"norm": 2.5, "policy": "global"}},
  "schedule": {"kind": "wsd", "warmup": "2 steps", "decay": "auto"},
  "checkpoint": {"every": "auto", "keep": {"last": 3, "milestones": "none"}},
  "debug": {"throttle": "none", "nodes": "auto"}
}
)";
};

TEST_F(JsonDecks, MeanWhatTheSameInYamlMeans) {
    const auto expected = load_with(yaml_);
    const auto found = load_with(json_);
    ASSERT_TRUE(expected.ok() && expected.found.warnings() == 0) << expected.found.print();
    ASSERT_TRUE(found.ok() && found.found.warnings() == 0) << found.found.print();

    EXPECT_EQ(found.run, expected.run);
    EXPECT_EQ(found.run.run.resume, spec::Resume::automatic);
    EXPECT_EQ(found.run.run.dir, "runs/small");
    EXPECT_EQ(found.run.model.init_path, "");
    EXPECT_EQ(load_with(found.effective).run, expected.run) << found.effective;
}

TEST_F(JsonDecks, NeedNoSpaces) {
    std::string dense;
    bool is_quoted = false;
    for (std::size_t i = 0; i < json_.size(); ++i) {
        is_quoted = is_quoted != (json_[i] == '"' && json_[i - 1] != '\\');
        if (is_quoted || (json_[i] != ' ' && json_[i] != '\n')) {
            dense += json_[i];
        }
    }
    ASSERT_EQ(dense.find('\n'), std::string::npos);

    const auto found = load_with(dense);
    ASSERT_TRUE(found.ok()) << found.found.print();
    EXPECT_EQ(found.run, load_with(yaml_).run);
}

TEST_F(JsonDecks, WriteCharactersAsTwoEscapes) {
    auto json = json_;
    json.replace(json.find("small"), 5, "\\ud83d\\uDE00 \\u00e9");
    const auto found = load_with(json);
    ASSERT_TRUE(found.ok()) << found.found.print();
    EXPECT_EQ(found.run.run.name, "\xf0\x9f\x98\x80 \xc3\xa9");

    json.replace(json.find("\\uDE00"), 6, "");
    EXPECT_FALSE(load_with(json).ok()) << "half a character";
}

TEST_F(JsonDecks, HaveOverridesInQuotesToo) {
    const std::string deck = yaml_ + "logging: {every: 1 steps}\n";
    const auto found =
        load_with(deck, {"run.resume=\"never\"", "run.dir='auto'", "checkpoint.every=\"none\""});
    ASSERT_TRUE(found.ok()) << found.found.print();
    EXPECT_EQ(found.run.run.resume, spec::Resume::never);
    EXPECT_EQ(found.run.run.dir, "runs/small");
    EXPECT_FALSE(found.run.checkpoint.every);

    EXPECT_EQ(load_with(deck, {"run.dir=./auto"}).run.run.dir, "./auto")
        << "a folder of that name has a path";
}

}  // namespace
}  // namespace ziggurat::deck
