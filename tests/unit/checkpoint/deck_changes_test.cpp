#include "checkpoint/catalogue/deck_changes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.hpp"
#include "checkpoint/recorded_deck.hpp"
#include "deck/load.hpp"
#include "deck/schema/schema.hpp"
#include "layout/families/family_descriptor.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::checkpoint {
namespace {

constexpr const char* gpt2 = R"(deck_version: 1
model: {family: gpt2, layers: 2, hidden: 32, heads: 4, vocab: 256, max_seq: 16}
data: {tokenizer: bytes, seq: 16, train: [{format: text, path: TEXT}]}
train: {steps: 10, global_batch: 12, micro_batch: 1}
)";

constexpr const char* llama = R"(deck_version: 1
model: {family: llama, layers: 2, hidden: 32, heads: 4, vocab: 256, max_seq: 16}
data: {tokenizer: bytes, seq: 16, train: [{format: text, path: TEXT}]}
train: {steps: 10, global_batch: 12, micro_batch: 1}
)";

/// Returns the folder in which decks find TEXT and OTHER.
const std::string& folder() {
    static const test::ScratchFolder made;
    static const bool is_filled = [] {
        std::ofstream{made.file("TEXT")} << std::string(2000, 'x');
        std::ofstream{made.file("OTHER")} << std::string(2000, 'y');
        std::vector<std::int32_t> tokens(256);  // header of llm.c, and 1000 tokens of 0
        tokens[0] = 20240520, tokens[1] = 1, tokens[2] = 1000;
        std::ofstream{made.file("TOKENS")}.write(reinterpret_cast<const char*>(tokens.data()), 1024)
            << std::string(2000, '\0');
        return true;
    }();
    EXPECT_TRUE(is_filled);
    return made.path();
}

std::string effective(const char* deck, const std::vector<std::string>& overrides, int ranks = 1) {
    std::filesystem::current_path(folder());
    const auto loaded = deck::load_text(deck, "a.yaml", overrides, {.ranks = ranks, .threads = 1});
    EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    return loaded.effective;
}

/// Returns the changes that the overrides make to the deck.
std::vector<DeckChange> after(const char* deck, const std::vector<std::string>& overrides, int ranks = 1) {
    return changes(effective(deck, {}), effective(deck, overrides, ranks));
}

std::vector<std::string> keys_of(const std::vector<DeckChange>& all, DeckChangeClass change_class) {
    std::vector<std::string> keys;
    for (const DeckChange& change : all) {
        if (change.change_class == change_class) {
            keys.push_back(change.key);
        }
    }
    return keys;
}

using Keys = std::vector<std::string>;

TEST(DeckChanges, EveryKeyWithAValueHasAClassInEveryFamily) {
    for (const deck::Row& row : deck::deck_schema().rows()) {
        for (const auto* family : layout::families()) {
            if (deck::has_value(row.type)) {
                EXPECT_NO_THROW(class_of(row, family->name)) << row.path;
            }
        }
    }
}

TEST(DeckChanges, AKeyThatDoesNotSayWhatItDoesIsABug) {
    EXPECT_THROW(class_of({.path = "run.colour", .type = deck::Type::text}, "gpt2"), Error);
}

TEST(DeckChanges, ADeckDoesNotDifferFromItself) {
    EXPECT_TRUE(after(gpt2, {}).empty());
    EXPECT_TRUE(after(llama, {}).empty());
}

TEST(DeckChanges, ComparesValuesAndNotTheirSpelling) {
    EXPECT_TRUE(
        after(gpt2, {"optimizer.lr=0.0003", "train.steps=10 steps", "run.hang_timeout=600s"}).empty());
}

TEST(DeckChanges, RefusesWhateverTheTensorsAre) {
    const auto all = after(gpt2, {"model.hidden=64", "model.layers=3", "model.tie_embeddings=false",
                                  "model.max_seq=32", "model.norm_epsilon=1e-6"});

    EXPECT_EQ(keys_of(all, DeckChangeClass::refused),
              (Keys{"model.layers", "model.hidden", "model.head_dim", "model.ffn_hidden", "model.max_seq",
                    "model.tie_embeddings", "model.norm_epsilon"}));
}

TEST(DeckChanges, RefusesOtherWindows) {
    const auto with = [](const std::vector<std::string>& overrides) {
        auto all = overrides;
        all.emplace_back("model.family=mistral");
        return effective(llama, all);
    };

    EXPECT_EQ(keys_of(changes(with({}), with({"model.window=8", "model.full_attention_interval=2"})),
                      DeckChangeClass::refused),
              (Keys{"model.window", "model.full_attention_interval"}));
    EXPECT_EQ(keys_of(changes(with({"model.window=8"}), with({"model.window=9"})), DeckChangeClass::refused),
              Keys{"model.window"});
}

TEST(DeckChanges, RefusesAnotherThetaOfWindows) {
    const auto with = [](const char* theta) {
        return effective(llama, {"model.family=gemma3", "model.window=8", theta});
    };

    EXPECT_EQ(keys_of(changes(with("model.window_rope_theta=auto"), with("model.window_rope_theta=500")),
                      DeckChangeClass::refused),
              Keys{"model.window_rope_theta"});
}

TEST(DeckChanges, RefusesOtherSoftCaps) {
    const auto with = [](const char* caps) {
        return effective(llama, {"model.family=gemma2", std::string{"model.softcap="} + caps});
    };

    EXPECT_EQ(keys_of(changes(with("{}"), with("{attention: none, logits: 20}")), DeckChangeClass::refused),
              (Keys{"model.softcap.attention", "model.softcap.logits"}));
    EXPECT_EQ(keys_of(changes(with("{}"), with("{attention: 50, logits: 30}")), DeckChangeClass::refused),
              Keys{});
}

TEST(DeckChanges, RefusesAnotherTokenizerWhereBothAreKnown) {
    const std::vector<std::string> numbers{"data.tokenizer=none",
                                           "data.train=[{format: llmc, path: TOKENS}]"};
    const auto with_hash = [&](const std::string& hash) {
        auto overrides = numbers;
        overrides.push_back("data.tokenizer={kind: hf, path: here, hash: '" + hash + "'}");
        return effective(gpt2, overrides);
    };
    const auto others = changes(with_hash("xxh3:1"), with_hash("xxh3:2"));
    EXPECT_EQ(keys_of(others, DeckChangeClass::refused), Keys{"data.tokenizer.hash"});
    for (const auto& all : {changes(effective(gpt2, numbers), with_hash("xxh3:1")),
                            changes(with_hash("xxh3:1"), effective(gpt2, numbers))}) {
        EXPECT_EQ(keys_of(all, DeckChangeClass::refused), Keys{}) << "token numbers are what they were";
        EXPECT_EQ(keys_of(all, DeckChangeClass::noted), Keys{"data.tokenizer.kind"});
    }
}

TEST(DeckChanges, AnotherFamilyIsRefused) {
    const auto all = changes(effective(gpt2, {}), effective(llama, {}));

    EXPECT_EQ(all.front().key, "model.family");
    EXPECT_EQ(all.front().change_class, DeckChangeClass::refused);
}

TEST(DeckChanges, LongerSequencesAreNoOtherTensorsWherePositionsAreNotLearned) {
    const auto all = after(llama, {"model.max_seq=32"});

    EXPECT_EQ(keys_of(all, DeckChangeClass::refused), Keys{});
    EXPECT_EQ(keys_of(all, DeckChangeClass::warned), Keys{});
    EXPECT_EQ(keys_of(all, DeckChangeClass::noted), Keys{"model.max_seq"});
}

TEST(DeckChanges, RefusesPositionsThatAreScaledInAnotherWay) {
    const auto scaled = [](const std::string& keys) {
        return effective(llama, {"model.rope_scaling={original_max_seq: 8, " + keys + "}"});
    };
    const auto refused = [](const std::string& before, const std::string& after) {
        return keys_of(changes(before, after), DeckChangeClass::refused);
    };
    const auto yarn = scaled("kind: yarn, factor: 4");
    EXPECT_EQ(refused(effective(llama, {}), yarn),
              (Keys{"model.rope_scaling.kind", "model.rope_scaling.factor",
                    "model.rope_scaling.original_max_seq"}));
    EXPECT_EQ(refused(yarn, scaled("kind: yarn, factor: 8")),
              (Keys{"model.rope_scaling.factor", "model.rope_scaling.attention_factor"}));
    EXPECT_EQ(refused(yarn, scaled("kind: yarn, factor: 4, truncate: false, beta_fast: 16")),
              (Keys{"model.rope_scaling.beta_fast", "model.rope_scaling.truncate"}));
    const std::string longrope = "kind: longrope, factor: 2, short_factors: [1, 1, 1, 2], long_factors: ";
    EXPECT_EQ(refused(scaled(longrope + "[1, 2, 3, 4]"), scaled(longrope + "[1, 2, 3, 5]")),
              Keys{"model.rope_scaling.long_factors"});
    EXPECT_EQ(refused(scaled(longrope + "[1, 2, 3, 4]"), scaled(longrope + "[1.0, 2.0, 3, 4]")), Keys{});
}

TEST(DeckChanges, WarnsOfWhatTheTrainingIs) {
    const auto all = after(gpt2, {"run.seed=5", "data.shuffle=false", "train.steps=20",
                                  "train.global_batch=24", "train.only=[layers.*]", "precision.compute=fp32",
                                  "optimizer.lr=1e-3", "schedule.warmup=2 steps"});

    EXPECT_EQ(keys_of(all, DeckChangeClass::warned), (Keys{"train.only", "precision.compute"}));
    EXPECT_EQ(keys_of(all, DeckChangeClass::measured),
              (Keys{"run.seed", "data.shuffle", "train.steps", "train.global_batch", "optimizer.lr",
                    "schedule.warmup"}));
    EXPECT_EQ(keys_of(all, DeckChangeClass::refused), Keys{});
    const auto lines = warnings(all);
    ASSERT_EQ(lines.size(), 2U) << "what is measured is told by who has measured it";
    EXPECT_EQ(lines[1],
              "precision.compute is bf16 (default) in the checkpoint and fp32 (command line) now: from here "
              "on parameters, activations and products are rounded differently.");
    EXPECT_EQ(note(all), "");
}

TEST(DeckChanges, AKeyWithoutMeaningIsNotWarnedOf) {
    EXPECT_EQ(keys_of(after(gpt2, {"train.spikes={action: warn, z: 7}"}), DeckChangeClass::warned),
              (Keys{"train.spikes.action", "train.spikes.z"}));
    const auto idle = after(gpt2, {"train.spikes.z=7", "data.document_token=3"});
    EXPECT_EQ(keys_of(idle, DeckChangeClass::warned), Keys{});
    EXPECT_EQ(keys_of(idle, DeckChangeClass::noted), (Keys{"data.document_token", "train.spikes.z"}));
}

TEST(DeckChanges, NotesHowTheWorkIsSpread) {
    const auto all = after(gpt2,
                           {"sharding.zero=3", "train.micro_batch=2", "recompute.kind=full",
                            "logging.every=1 steps", "overlap.prefetch=2", "run.dir=elsewhere"},
                           3);

    EXPECT_EQ(keys_of(all, DeckChangeClass::refused), Keys{});
    EXPECT_EQ(keys_of(all, DeckChangeClass::warned), Keys{});
    const auto noted = keys_of(all, DeckChangeClass::noted);
    for (const char* key : {"run.dir", "train.micro_batch", "parallel.data", "sharding.zero",
                            "sharding.sum_group", "overlap.prefetch", "recompute.kind", "logging.every"}) {
        EXPECT_NE(std::ranges::find(noted, key), noted.end()) << key;
    }
    EXPECT_NE(note(all).find("parallel.data 1 -> 3"), std::string::npos) << note(all);
    EXPECT_EQ(note(all).find("budget"), std::string::npos) << note(all);
}

TEST(DeckChanges, SourcesThatComeOrGoAreNamedOneByOne) {
    const auto all = after(gpt2, {"data.train=[{format: text, path: TEXT}, {format: text, path: "
                                  "OTHER, weight: 2}]"});

    EXPECT_EQ(keys_of(all, DeckChangeClass::measured),
              (Keys{"data.train[1].format", "data.train[1].path", "data.train[1].weight"}));
    EXPECT_EQ(all[1].before, "nothing");
    EXPECT_EQ(all[1].after, "\"OTHER\"");
}

TEST(DeckChanges, SaysBothValuesAndWhereTheyComeFrom) {
    const auto all = after(gpt2, {"model.hidden=64", "model.vocab=300"});

    EXPECT_EQ(
        refusal(all),
        "the checkpoint is of another model (its tensors have other shapes or another meaning):\n"
        "  model.hidden is 32 (deck a.yaml:2) in the checkpoint and 64 (command line) now\n"
        "  model.head_dim is 8 (auto: hidden / heads) in the checkpoint and 16 (auto: hidden / heads) now\n"
        "  model.ffn_hidden is 128 (auto: 4 hidden) in the checkpoint and 256 (auto: 4 hidden) now\n"
        "  model.vocab is 256 (deck a.yaml:2) in the checkpoint and 300 (command line) now\n"
        "Set the checkpoint's values in the deck, or train the other model in another run.dir.");
    EXPECT_EQ(refusal(after(gpt2, {"run.seed=3"})), "");
}

TEST(DeckChanges, ACommentSignInsideAValueIsNoComment) {
    const auto all = after(gpt2, {"run.name='a # \"b\" # c'"});

    ASSERT_FALSE(all.empty());
    EXPECT_EQ(all.front().key, "run.name");
    EXPECT_EQ(all.front().after_place, "command line");
}

TEST(DeckChanges, OriginsAreThoseOfTheRunThatHasRecordedThem) {
    std::filesystem::current_path(folder());
    std::ofstream{"all: 2.yaml"} << gpt2;
    const auto loaded = deck::load("all: 2.yaml", {"optimizer.lr=1e-3"}, {.ranks = 1, .threads = 1});
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();

    const auto all = changes(loaded.effective, effective(gpt2, {"model.layers=3"}));

    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(describe(all[0]),
              "model.layers is 2 (deck all: 2.yaml:2) in the checkpoint and 3 (command line) now");
    EXPECT_EQ(describe(all[1]),
              "optimizer.lr is 1e-3 (command line) in the checkpoint and 3.0e-4 (default) now");
}

TEST(DeckChanges, AKeyThatTheOlderDeckDoesNotHaveCountsWithItsDefault) {
    std::string older = effective(gpt2, {});
    const auto begin = older.find("  eps:");
    older.erase(begin, older.find('\n', begin) + 1 - begin);
    const auto threads = older.find("  threads:");  // the run determines its default
    older.erase(threads, older.find('\n', threads) + 1 - threads);

    EXPECT_TRUE(changes(older, effective(gpt2, {})).empty());
    const auto all = changes(older, effective(gpt2, {"optimizer.eps=1e-6"}));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().before, "1.0e-8");
    EXPECT_EQ(all.front().before_place, "default");
}

TEST(DeckChanges, AnotherSecretIsTheSameTraining) {
    const auto with_secret = [](const std::string& secret) {
        std::filesystem::current_path(folder());
        std::filesystem::create_directories(secret);
        std::filesystem::copy_file("TEXT", secret + "/TEXT",
                                   std::filesystem::copy_options::overwrite_existing);
        std::string deck = gpt2;
        deck.replace(deck.find("TEXT"), 4, "'${env:DATA_TOKEN}/TEXT'");
        const auto loaded = deck::load_text(
            deck, "a.yaml", {}, {.ranks = 1, .threads = 1, .environment = [&](const std::string& name) {
                                     return name == "DATA_TOKEN" ? std::optional{secret} : std::nullopt;
                                 }});
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded.effective;
    };

    EXPECT_TRUE(changes(with_secret("s3cr3t"), with_secret("0th3r")).empty());
    EXPECT_EQ(problem_of_deck(with_secret("s3cr3t")), std::nullopt) << "a checkpoint may keep it";
    const auto all = changes(with_secret("s3cr3t"), effective(gpt2, {}));
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all.front().before, "\"${env:DATA_TOKEN}/TEXT\"");
}

TEST(DeckChanges, ATextThatIsNoDeckIsABrokenCheckpoint) {
    for (const char* text : {"\x01", "a: [", "deck_version: 1\nmodel: {colour: red}\n", "deck_version: x"}) {
        try {
            changes(text, effective(gpt2, {}));
            ADD_FAILURE() << "taken: " << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::checkpoint);
            EXPECT_NE(std::string{error.what()}.find("the deck of the checkpoint"), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace ziggurat::checkpoint
