#include "deck/load.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/deck/load_fixture.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

TEST_F(Load, WritesADeckThatLoadsToTheSameRun) {
    const std::vector<std::string> decks = {
        "",
        "run: {name: 'a \"b\" # c', seed: 5, trace: true, resume: never}\n",
        "schedule: {kind: constant}\noptimizer: {clip: {policy: off}, no_decay: ['*.weight', "
        "'?mbedding.token']}\n",
        "model: {family: llama, layers: 2, hidden: 48, heads: 6, kv_heads: 2}\n",
        "data:\n  seq: 8\n  held_out: 10%\n  train:\n    - {format: text, path: '" +
            (folder_ / "text.txt").string() + "', weight: 3}\n    - {format: text, path: '" +
            (folder_ / "text.txt").string() +
            "'}\nvalidate: {every: [50 steps, 90s], batches: 3, sample: {prompt: \"say:\\n${x}\", tokens: "
            "9}}\n",
        "sharding: {parameters: 2, gradients: 2, optimizer: all}\nparallel: {tensor: 2}\n",
        "tiers: {home: {optimizer: {device: 5%, host: rest}}, device: 3GiB, host: {budget: 33%}}\n",
        "train: {tokens: 12k, global_batch: 12, micro_batch: 3}\nschedule: {warmup: 900 tokens}\n",
    };
    const LoadOptions options{.ranks = 4, .machine = machine_};
    for (std::string deck : decks) {
        // A section of `deck` replaces that of the base.
        std::string text;
        std::istringstream lines{base()};
        for (std::string line; std::getline(lines, line);) {
            const std::string section = line.substr(0, line.find(':') + 1);
            text += ("\n" + deck).find("\n" + section) == std::string::npos ? line + "\n" : "";
        }
        if (const std::size_t at = deck.find("${x}"); at != std::string::npos) {
            deck.insert(at, "$");
        }
        std::vector<std::string> overrides{"train.global_batch=24", "train.micro_batch=3"};

        const LoadedDeck loaded = load_text(text + deck, "deck.yaml", overrides, options);
        ASSERT_TRUE(loaded.ok()) << deck << loaded.found.print();
        const LoadedDeck again = load_text(loaded.effective, "effective.yaml", {}, options);

        EXPECT_TRUE(again.ok()) << loaded.effective << again.found.print();
        EXPECT_EQ(again.run, loaded.run) << loaded.effective;
        EXPECT_EQ(again.found.warnings() + again.found.notes(), 0u) << again.found.print();
    }
}

TEST_F(Load, SaysWhereEachValueComesFrom) {
    const LoadedDeck loaded = load_base("optimizer: {lr: 1.0e-3}\n", {"run.seed=9"});

    const auto has = [&](const std::string& line) {
        return loaded.effective.find(line) != std::string::npos;
    };
    EXPECT_TRUE(has("# deck " + (folder_ / "deck.yaml").string() + ":5"));
    EXPECT_TRUE(has("# command line"));
    EXPECT_TRUE(has("# default"));
    EXPECT_TRUE(has("# auto: 1 rank / (tensor 1 x context 1 x stages 1)"));
}

TEST_F(Load, ReadsTheRecordOfARunWhoseDataAreGone) {
    const LoadedDeck loaded = load_base("optimizer: {lr: 1.0e-3}\n", {}, {.ranks = 3});
    fs::remove(folder_ / "text.txt");

    const LoadedDeck record =
        load_text(loaded.effective, "record", {}, {.machine = machine_, .as_record = true});
    const LoadedDeck checked = load_text(loaded.effective, "record", {}, {.machine = machine_});

    EXPECT_TRUE(record.ok()) << record.found.print();
    EXPECT_EQ(record.run.model, loaded.run.model);
    EXPECT_EQ(record.run.parallel.ranks, 3);
    EXPECT_FALSE(checked.ok());
}

TEST_F(Load, FollowsNothingThatARecordNames) {
    const LoadedDeck loaded = load_base("optimizer: {lr: 1.0e-3}\n", {});
    std::ofstream{folder_ / "other.yaml"} << "run: {seed: 7}\n";
    int asked = 0;
    LoadOptions options{.machine = machine_, .as_record = true};
    options.environment = [&](const std::string&) {
        ++asked;
        return std::optional<std::string>{"5"};
    };

    const std::string name = (folder_ / "record").string();
    const LoadedDeck included = load_text(loaded.effective + "include: [other.yaml]\n", name, {}, options);
    const LoadedDeck missing = load_text(loaded.effective + "include: [/no/such/file]\n", name, {}, options);
    std::string asking = loaded.effective;
    const auto at = asking.find("lr: ");
    asking.replace(at, asking.find_first_of(" \n", at + 4) - at, "lr: '${env:HOME:-1.0e-3}'");
    const LoadedDeck of_environment = load_text(asking, name, {}, options);

    EXPECT_NE(included.found.print().find("a recorded deck includes files"), std::string::npos)
        << included.found.print();
    EXPECT_EQ(missing.found.print().find("no such file"), std::string::npos) << "nobody looks";
    EXPECT_FALSE(missing.ok());
    EXPECT_NE(of_environment.found.print().find("uses environment variables"), std::string::npos)
        << of_environment.found.print();
    EXPECT_EQ(asked, 0);
}

}  // namespace
}  // namespace ziggurat::deck
