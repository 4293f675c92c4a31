#include "deck/load.hpp"

#include <gtest/gtest.h>

#include "tests/unit/deck/load_fixture.hpp"

namespace ziggurat::deck {
namespace {

TEST_F(Load, SubstitutesVariables) {
    const spec::RunSpec run = this->run(
        "vars: {name: tiny, where: '${env:PLACE}/${name}', seed: 7}\n"
        "run: {name: '${name}-$${x}', dir: '${where}/${env:NOWHERE:-there}', seed: '${seed}'}\n");

    EXPECT_EQ(run.run.name, "tiny-${x}");
    EXPECT_EQ(run.run.dir, "here/tiny/there");
    EXPECT_EQ(run.run.seed, 7u);
}

TEST_F(Load, LeavesTheEnvironmentOfFoldersToEachNode) {
    const std::string vars = "vars: {disk: '${env:DISK:-/nvme}/x', run: '${env:PLACE}'}\n";
    const std::string homes = "run: {dir: '${run}'}\ntiers: {home: {optimizer: nvme}, nvme: {paths: ";
    const LoadedDeck loaded = load_base(vars + homes + "['${disk}', '/a\"$${b', '${env:PLACE}']}}\n");
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.tiers.nvme_paths, (std::vector<std::string>{"/nvme/x", "/a\"${b", "here"}));

    LoadOptions there{.ranks = 1};
    there.machine = machine_;
    there.environment = [](const std::string& name) { return std::optional{"their " + name}; };
    const LoadedDeck elsewhere =
        load_text(loaded.effective_for_other_folder, "the effective deck", {}, there);

    ASSERT_TRUE(elsewhere.ok()) << elsewhere.found.print();
    EXPECT_EQ(elsewhere.run.tiers.nvme_paths,
              (std::vector<std::string>{"their DISK/x", "/a\"${b", "their PLACE"}));
    auto identical = elsewhere.run;
    identical.tiers.nvme_paths = loaded.run.tiers.nvme_paths;
    EXPECT_EQ(identical, loaded.run) << "the rest is rank 0's";

    there.environment = [](const std::string&) { return std::optional<std::string>{}; };
    const LoadedDeck without = load_text(loaded.effective_for_other_folder, "the effective deck", {}, there);
    ASSERT_TRUE(without.ok()) << without.found.print();
    EXPECT_EQ(without.run, loaded.run) << "launchers may keep the environment to themselves";
    const auto same = load_base(homes + "['/nvme']}}\n", {"run.dir=x"});
    const auto folder = same.effective.find("  working_folder: ");
    auto but_the_folder = same.effective;
    but_the_folder.erase(folder, same.effective.find('\n', folder) + 1 - folder);
    EXPECT_EQ(same.effective_for_other_folder, but_the_folder);
}

TEST_F(Load, LeavesSecretsOfTheEnvironmentAsVariables) {
    const auto environment_of = [](std::string secret) {
        return [secret = std::move(secret)](const std::string& name) -> std::optional<std::string> {
            return name == "HF_TOKEN"    ? std::optional{secret}
                   : name == "MY_SECRET" ? std::optional{"bias"}
                   : name == "PLACE"     ? std::optional{"here"}
                                         : std::nullopt;
        };
    };
    const std::string deck =
        base() +
        "vars: {who: '$${a}-${env:HF_TOKEN}', also: '${who}/x'}\n"
        "run: {name: '${who}'}\n"
        "tiers: {nvme: {paths: ['/d/${env:PLACE}', '/d\"/${also}', '/d/${env:NO_TOKEN:-other}']}}\n"
        "validate: {every: 10 steps, batches: 1, sample: {prompt: '${env:HF_TOKEN}!', tokens: 5}}\n"
        "optimizer: {no_decay: ['*.${env:MY_SECRET}']}\n";
    LoadOptions options{.ranks = 1, .machine = machine_, .environment = environment_of("s3cr3t")};
    const std::string name = (folder_ / "deck.yaml").string();
    const LoadedDeck loaded = load_text(deck, name, {"data.held_out=10%"}, options);
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();

    EXPECT_EQ(loaded.run.run.name, "${a}-s3cr3t");
    EXPECT_EQ(loaded.secrets, (std::vector<Secret>{{"HF_TOKEN", "s3cr3t"}, {"MY_SECRET", "bias"}}));
    const auto has = [](const std::string& text, const std::string& part) {
        return text.find(part) != text.npos;
    };
    for (const char* line : {"name: \"$${a}-${env:HF_TOKEN}\"", "dir: \"runs/$${a}-${env:HF_TOKEN}\"",
                             "prompt: \"${env:HF_TOKEN}!\"",
                             "paths: [\"/d/here\", \"/d\\\"/$${a}-${env:HF_TOKEN}/x\", \"/d/other\"]",
                             "no_decay: [\"*.bias\"]"}) {  // a pattern of tensors determines the trained ones
        EXPECT_TRUE(has(loaded.effective, line)) << line << "\n" << loaded.effective;
    }
    EXPECT_FALSE(has(loaded.effective, "s3cr3t")) << loaded.effective;

    const LoadedDeck again = load_text(loaded.effective, "the effective deck", {}, options);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run, loaded.run);
    options.environment = environment_of("");
    const LoadedDeck elsewhere =
        load_text(loaded.effective_for_other_folder, "the effective deck", {}, options);
    ASSERT_TRUE(elsewhere.ok()) << elsewhere.found.print();
    EXPECT_EQ(elsewhere.run, loaded.run) << "launchers may keep the environment to themselves";
    const LoadedDeck without = load_text(loaded.effective, "the effective deck", {}, options);
    EXPECT_TRUE(has(without.found.print(), "the environment has no 'HF_TOKEN'")) << without.found.print();
}

TEST_F(Load, KeepsHiddenSecretsOfARecordAsTheyAre) {
    const std::string deck = base() + "run: {name: '${env:HF_TOKEN}', dir: '/runs/${env:HF_TOKEN}'}\n";
    int asked = 0;
    LoadOptions options{.ranks = 1, .machine = machine_};
    options.environment = [&](const std::string& name) {
        asked += name == "HF_TOKEN" ? 1 : 0;
        return name == "HF_TOKEN" ? std::optional<std::string>{"s3cr3t"} : std::nullopt;
    };
    const LoadedDeck loaded = load_text(deck, "deck.yaml", {}, options);
    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    asked = 0;
    options.as_record = true;
    const LoadedDeck record = load_text(loaded.effective, "the record", {}, options);

    ASSERT_TRUE(record.ok()) << record.found.print();
    EXPECT_EQ(asked, 0) << "who writes a checkpoint does not choose what of the environment is read";
    EXPECT_EQ(record.run.run.dir, "/runs/${env:HF_TOKEN}");
    EXPECT_EQ(record.effective.find("$${"), std::string::npos) << "it can still be run again";
    EXPECT_NE(record.effective.find("dir: \"/runs/${env:HF_TOKEN}\""), std::string::npos) << record.effective;
}

TEST_F(Load, ComplaintsDoNotTellSecrets) {
    LoadOptions options{.ranks = 1, .machine = machine_};
    options.environment = [](const std::string& name) {
        return name == "HF_TOKEN" ? std::optional<std::string>{"99s3cr3t"} : std::nullopt;
    };
    for (const char* more :
         {"run: {seed: '${env:HF_TOKEN}'}\n", "optimizer: {betas: [0.9, '${env:HF_TOKEN}']}\n",
          "checkpoint: {every: '${env:HF_TOKEN}'}\n", "run: {trace: '${env:HF_TOKEN}'}\n"}) {
        const LoadedDeck loaded = load_text(base() + more, "deck.yaml", {}, options);
        EXPECT_FALSE(loaded.ok()) << more;
        EXPECT_EQ(loaded.found.print().find("s3cr3t"), std::string::npos) << loaded.found.print();
        EXPECT_NE(loaded.found.print().find("${env:HF_TOKEN}"), std::string::npos) << loaded.found.print();
    }
}

TEST_F(Load, BoundsWhatVariablesGrowTo) {
    std::string many = "vars: {a: '" + std::string(40000, 'a') + "'}\noptimizer: {no_decay: [";
    for (int i = 0; i < 200; ++i) {
        many += "'${a}', ";
    }

    const LoadedDeck loaded = load_base(many + "last]}\n");

    EXPECT_FALSE(loaded.ok());
    EXPECT_NE(loaded.found.print().find("or 1024 KiB in all"), std::string::npos);
}

}  // namespace
}  // namespace ziggurat::deck
