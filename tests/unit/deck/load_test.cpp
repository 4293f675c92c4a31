#include "deck/load.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>

#include "base/clock.hpp"
#include "layout/family_descriptor.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

/// A folder with a text to train on, and decks that tests put beside it.
class Load : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_);
        write("text.txt", std::string(5000, 'a'));
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) const {
        std::ofstream{folder_ / name} << text;
        return (folder_ / name).string();
    }

    std::string base() const {
        return "deck_version: 1\n"
               "model: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
               "data: {seq: 16, train: [{format: text, path: '" +
               (folder_ / "text.txt").string() +
               "'}]}\n"
               "train: {steps: 100, global_batch: 24, micro_batch: 2}\n";
    }

    LoadedDeck load_base(const std::string& more,
                         const std::vector<std::string>& overrides = {},
                         LoadOptions options = {.ranks = 1}) const {
        options.machine = machine_;
        options.environment = [](const std::string& name) -> std::optional<std::string> {
            return name == "PLACE" ? std::optional<std::string>{"here"} : std::nullopt;
        };
        return load_text(base() + more, (folder_ / "deck.yaml").string(), overrides, options);
    }

    /// The run of a deck without errors.
    spec::RunSpec run(const std::string& more,
                      const std::vector<std::string>& overrides = {},
                      const LoadOptions& options = {.ranks = 1}) const {
        const LoadedDeck loaded = load_base(more, overrides, options);
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded.run;
    }

    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_load_" + std::to_string(::getpid()));
    spec::MachineSpec machine_{
        .name = "test", .ranks_per_node = 4, .cores_per_node = 16, .host_bytes = 64LL << 30};
};

TEST_F(Load, ReadsNodeAsTheDataRanksThatShareOne) {
    const spec::RunSpec real =
        run("sharding: {zero: 3, secondary: node}\n", {"train.global_batch=16"}, {.ranks = 8});
    EXPECT_EQ(real.sharding.secondary, 4);
    EXPECT_EQ(real.sharding.sum_group, 4);

    const spec::RunSpec pretended = run("sharding: {zero: 3, secondary: node}\ndebug: {nodes: 4}\n",
                                        {"train.global_batch=16"}, {.ranks = 8});
    EXPECT_EQ(pretended.sharding.secondary, 2);
    EXPECT_EQ(pretended.sharding.sum_group, 2);
    EXPECT_EQ(pretended.parallel.ranks_per_node, 4) << "what memory and cores are shared by";

    const spec::RunSpec amsp =
        run("sharding: {parameters: node, gradients: node, optimizer: all}\ndebug: {nodes: 2}\n",
            {"train.global_batch=16"}, {.ranks = 8});
    EXPECT_EQ(amsp.sharding.parameters, 4);
    EXPECT_EQ(amsp.sharding.optimizer, 8);
    EXPECT_EQ(amsp.sharding.reduce, spec::ReducePlan::by_span);
}

TEST_F(Load, MakesNoSecondCopyWhereItSavesNothing) {
    EXPECT_EQ(run("sharding: {zero: 3, secondary: node}\n", {}, {.ranks = 4}).sharding.secondary, 0)
        << "all ranks share the node";
    EXPECT_EQ(
        run("sharding: {zero: 2, secondary: node}\ndebug: {nodes: 2}\n", {}, {.ranks = 4}).sharding.secondary,
        0)
        << "parameters are not cut at all";
    EXPECT_EQ(
        run("sharding: {zero: 3, secondary: node}\ndebug: {nodes: 4}\n", {}, {.ranks = 4}).sharding.secondary,
        0)
        << "every rank is a node";
}

TEST_F(Load, ResolvesEveryAuto) {
    const spec::RunSpec run = this->run("", {}, {.ranks = 6});

    EXPECT_EQ(run.parallel.data, 6);
    EXPECT_EQ(run.parallel.ranks_per_node, 4);
    EXPECT_EQ(run.parallel.threads, 4);
    EXPECT_EQ(run.train.micro_batches, 2);
    EXPECT_EQ(run.sharding.sum_group, 2) << "equal groups inside nodes of 4";
    EXPECT_EQ(run.sharding.reduce, spec::ReducePlan::at_end);
    EXPECT_EQ(run.model.kv_heads, 2);
    EXPECT_EQ(run.model.head_dim, 16);
    EXPECT_EQ(run.model.ffn_hidden, 128);
    EXPECT_EQ(run.model.vocab, 256);
    EXPECT_EQ(run.model.max_seq, 16);
    EXPECT_TRUE(run.model.tie_embeddings);
    EXPECT_EQ(run.tiers.device_budget_bytes,
              static_cast<std::int64_t>(0.94 * static_cast<double>(8LL << 30)));
    EXPECT_EQ(run.tiers.host_budget_bytes, static_cast<std::int64_t>(0.80 * static_cast<double>(32LL << 30)));
}

TEST_F(Load, TakesAsFewRanksAsTheDeckNeeds) {
    LoadOptions plan{.for_plan = true};

    EXPECT_EQ(run("parallel: {tensor: 2, pipeline: 2}\n", {}, plan).parallel.ranks, 4);
    EXPECT_EQ(run("parallel: {tensor: 2, data: 3}\n", {}, plan).parallel.ranks, 6);
}

TEST_F(Load, ReadsWhatIsShort) {
    const spec::RunSpec run = this->run(
        "optimizer: {clip_norm: 2.5}\n"
        "recompute: full\n"
        "schedule: linear\n"
        "tiers: {device: 1GiB}\n"
        "parallel: {tensor: 2, context: {degree: 2, kind: ring}, pipeline: 2}\n",
        {}, {.ranks = 8, .for_plan = true});

    EXPECT_EQ(run.optimizer.clip_norm, 2.5);
    EXPECT_EQ(run.recompute.kind, spec::RecomputeKind::full);
    EXPECT_EQ(run.schedule.kind, spec::ScheduleKind::linear);
    EXPECT_EQ(run.tiers.device_budget_bytes, 1LL << 30);
    EXPECT_EQ(run.parallel.tensor, 2);
    EXPECT_EQ(run.parallel.context, 2);
    EXPECT_EQ(run.parallel.stages, 2);
}

TEST_F(Load, TurnsStagesIntoSpans) {
    const LoadOptions plan{.ranks = 4, .for_plan = true};
    const auto spans = [&](const std::string& sharding) {
        const spec::Sharding found =
            run("sharding: " + sharding + "\n", {"train.global_batch=8"}, plan).sharding;
        return std::vector{found.parameters, found.gradients, found.optimizer};
    };

    EXPECT_EQ(spans("{zero: 0}"), (std::vector{1, 1, 1}));
    EXPECT_EQ(spans("{zero: 1}"), (std::vector{1, 1, 4}));
    EXPECT_EQ(spans("{zero: 2}"), (std::vector{1, 4, 4}));
    EXPECT_EQ(spans("{zero: 3}"), (std::vector{4, 4, 4}));
    EXPECT_EQ(spans("{parameters: 2, gradients: 2, optimizer: all}"), (std::vector{2, 2, 4}));
    EXPECT_EQ(spans("{optimizer: node}"), (std::vector{1, 1, 4}));
}

TEST_F(Load, TakesForAPlanWhatItCannotTrainYet) {
    const std::string deck = "parallel: {context: 2}\n";

    EXPECT_FALSE(load_base(deck, {}, {.ranks = 2}).ok());
    const auto planned = load_base(deck, {}, {.ranks = 2, .for_plan = true});
    EXPECT_TRUE(planned.ok());
    EXPECT_EQ(planned.only_planned, "context parallelism (parallel.context.degree)");
    EXPECT_EQ(load_base("", {}, {.ranks = 2, .for_plan = true}).only_planned, "");
    EXPECT_FALSE(load_base("compression: {gradients: tagc}\n", {}, {.ranks = 2, .for_plan = true}).ok());
}

TEST_F(Load, LetsTheLastOverrideWin) {
    const spec::RunSpec run =
        this->run("optimizer: {lr: 1.0e-3}\n",
                  {"optimizer.lr=2e-3", "optimizer.lr=3e-3", "data.train[0].weight=0.5", "run.name=again",
                   "optimizer.clip_norm=4", "recompute=selective", "optimizer.betas=[0.8, 0.9]"});

    EXPECT_EQ(run.optimizer.lr, 3e-3);
    EXPECT_EQ(run.optimizer.clip_norm, 4);
    EXPECT_EQ(run.optimizer.beta1, 0.8);
    EXPECT_EQ(run.data.train[0].weight, 0.5);
    EXPECT_EQ(run.run.name, "again");
    EXPECT_EQ(run.run.dir, "runs/again");
    EXPECT_EQ(run.recompute.kind, spec::RecomputeKind::selective);
}

TEST_F(Load, MergesIncludedDecksKeyByKey) {
    write("common.yaml", "optimizer: {lr: 1.0e-3, eps: 1.0e-6, betas: [0.5, 0.6], clip: {norm: 3.0}}\n");
    write("more.yaml", "include: [common.yaml]\noptimizer: {eps: 1.0e-7}\n");

    const LoadedDeck loaded = load_base("include: [more.yaml]\noptimizer: {lr: 2.0e-3, clip_norm: 5.0}\n");

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.optimizer.lr, 2e-3);
    EXPECT_EQ(loaded.run.optimizer.epsilon, 1e-7);
    EXPECT_EQ(loaded.run.optimizer.beta1, 0.5);
    EXPECT_EQ(loaded.run.optimizer.clip_norm, 5);
    EXPECT_NE(loaded.effective.find("# include " + (folder_ / "more.yaml").string() + ":2"),
              std::string::npos);
}

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
    const LoadedDeck elsewhere = load_text(loaded.effective_elsewhere, "the effective deck", {}, there);

    ASSERT_TRUE(elsewhere.ok()) << elsewhere.found.print();
    EXPECT_EQ(elsewhere.run.tiers.nvme_paths,
              (std::vector<std::string>{"their DISK/x", "/a\"${b", "their PLACE"}));
    auto alike = elsewhere.run;
    alike.tiers.nvme_paths = loaded.run.tiers.nvme_paths;
    EXPECT_EQ(alike, loaded.run) << "the rest is rank 0's";

    there.environment = [](const std::string&) { return std::optional<std::string>{}; };
    const LoadedDeck without = load_text(loaded.effective_elsewhere, "the effective deck", {}, there);
    ASSERT_TRUE(without.ok()) << without.found.print();
    EXPECT_EQ(without.run, loaded.run) << "launchers may keep the environment to themselves";
    EXPECT_EQ(load_base(homes + "['/nvme']}}\n", {"run.dir=x"}).effective_elsewhere,
              load_base(homes + "['/nvme']}}\n", {"run.dir=x"}).effective);
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
                             "no_decay: [\"*.bias\"]"}) {  // a pattern of tensors decides what is trained
        EXPECT_TRUE(has(loaded.effective, line)) << line << "\n" << loaded.effective;
    }
    EXPECT_FALSE(has(loaded.effective, "s3cr3t")) << loaded.effective;

    const LoadedDeck again = load_text(loaded.effective, "the effective deck", {}, options);
    ASSERT_TRUE(again.ok()) << again.found.print();
    EXPECT_EQ(again.run, loaded.run);
    options.environment = environment_of("");
    const LoadedDeck elsewhere = load_text(loaded.effective_elsewhere, "the effective deck", {}, options);
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

TEST_F(Load, FillsTheModelFromAPreset) {
    const LoadedDeck loaded =
        load_base("", {"model={preset: llama-8b, layers: 4}", "data.seq=128", "model.norm_epsilon=1e-6"});

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_EQ(loaded.run.model.layers, 4);
    EXPECT_EQ(loaded.run.model.kv_heads, 8);
    EXPECT_EQ(loaded.run.model.rope_theta, 500000);
    EXPECT_EQ(loaded.run.model.max_seq, 8192);
    EXPECT_EQ(loaded.found.notes(), 1u);
    EXPECT_NE(loaded.found.print().find("model.layers = 4 takes the place of 32 in preset llama-8b"),
              std::string::npos);
    EXPECT_NE(loaded.effective.find("# preset llama-8b"), std::string::npos);
}

TEST_F(Load, PadsTheVocabularyToWhatTensorRanksShare) {
    const std::map<int, std::int64_t> padded{{1, 50304}, {2, 50304}, {3, 50304}, {5, 50560}};
    for (const auto& [tensor, rows] : padded) {
        const LoadedDeck loaded =
            load_base("",
                      {"model={family: gpt2, layers: 2, hidden: 60, heads: 30, vocab: 50257}",
                       "parallel.tensor=" + std::to_string(tensor)},
                      {.ranks = tensor});
        ASSERT_TRUE(loaded.ok()) << loaded.found.print();
        EXPECT_EQ(loaded.run.model.vocab_padded, rows) << "tensor " << tensor;
    }
    const LoadedDeck own =
        load_base("",
                  {"model={family: gpt2, layers: 2, hidden: 60, heads: 30, vocab: 50257, vocab_pad_to: 1}",
                   "parallel.tensor=3"},
                  {.ranks = 3});
    EXPECT_FALSE(own.ok());
    EXPECT_NE(own.found.print().find("model.vocab_pad_to: auto makes its rows fit"), std::string::npos);
}

TEST_F(Load, LetsTensorRanksShareHeadsOfKeys) {
    for (const int tensor : {2, 4, 12}) {
        const LoadedDeck loaded =
            load_base("",
                      {"model={family: llama, layers: 2, hidden: 48, heads: 12, kv_heads: 2, ffn_hidden: 24}",
                       "parallel.tensor=" + std::to_string(tensor)},
                      {.ranks = tensor});
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
    }
}

TEST_F(Load, FillsEveryPresetWithTheModelOfThatName) {
    for (const auto* family : layout::families()) {
        for (const auto& preset : family->presets) {
            const LoadedDeck loaded =
                load_base("", {std::string{"model={preset: "} + preset.name + "}", "data.seq=128"});

            ASSERT_TRUE(loaded.ok()) << preset.name << loaded.found.print();
            auto expected = preset.model;
            expected.head_dim = expected.hidden / expected.heads;
            expected.vocab_padded = loaded.run.model.vocab_padded;
            EXPECT_EQ(loaded.run.model, expected) << preset.name;
        }
    }
}

TEST_F(Load, TakesWhatADeckDoesNotSayFromTheFamily) {
    for (const auto* family : layout::families()) {
        const std::string model_text{family->name};
        const LoadedDeck loaded =
            load_base("", {"model={family: " + model_text + ", layers: 2, hidden: 64, heads: 2}"});

        ASSERT_TRUE(loaded.ok()) << family->name << loaded.found.print();
        const auto& model = loaded.run.model;
        EXPECT_EQ(model.family, family->name);
        EXPECT_EQ(model.ffn_hidden, family->usual_ffn_hidden(64)) << family->name;
        EXPECT_EQ(model.tie_embeddings, family->ties_embeddings) << family->name;
        EXPECT_EQ(model.rotary_fraction, family->rotary_fraction) << family->name;
        EXPECT_EQ(loaded.effective.find("rope_theta") != std::string::npos, family->has_rotary_positions());
        EXPECT_EQ(loaded.effective.find("rotary_fraction") != std::string::npos,
                  family->has_rotary_positions());
    }
}

TEST_F(Load, CountsTokensInSteps) {
    const spec::RunSpec run = this->run("schedule: {kind: wsd, warmup: 800 tokens, decay: 10%}\n",
                                        {"train={tokens: 10k, global_batch: 24, micro_batch: 2}"});

    EXPECT_EQ(run.train.steps, 27) << "10,000 tokens in steps of 384, rounded up";
    EXPECT_EQ(run.schedule.warmup_steps, 3);
    EXPECT_EQ(run.schedule.decay_steps, 2);
}

TEST_F(Load, WritesADeckThatLoadsToTheSameRun) {
    const std::vector<std::string> decks = {
        "",
        "run: {name: 'a \"b\" # c', seed: 5, trace: yes, resume: never}\n",
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
    const LoadOptions options{.ranks = 4, .machine = machine_, .for_plan = true};
    for (std::string deck : decks) {
        // A section of `deck` takes the place of the base's.
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
    const LoadedDeck judged = load_text(loaded.effective, "record", {}, {.machine = machine_});

    EXPECT_TRUE(record.ok()) << record.found.print();
    EXPECT_EQ(record.run.model, loaded.run.model);
    EXPECT_EQ(record.run.parallel.ranks, 3);
    EXPECT_FALSE(judged.ok());
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
    EXPECT_NE(of_environment.found.print().find("asks for the environment"), std::string::npos)
        << of_environment.found.print();
    EXPECT_EQ(asked, 0);
}

TEST_F(Load, LimitsTheTimeByTheJobThatItIsIn) {
    LoadOptions options{.ranks = 1};
    options.job_end = [] { return std::optional{JobEnd{calendar_seconds() + 3600.5, "Slurm job 7"}}; };

    const LoadedDeck loaded = load_base("", {}, options);

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_NEAR(loaded.run.run.time_limit_seconds.value_or(0), 3600, 60);
    EXPECT_LE(loaded.run.run.time_limit_seconds.value_or(0), 3590) << "who started it has to leave, too";
    EXPECT_NE(loaded.effective.find("# auto: Slurm job 7 ends at 2"), std::string::npos) << loaded.effective;
    EXPECT_EQ(loaded.time_limit_source, "the end of Slurm job 7");
    EXPECT_EQ(load_base("run: {time_limit: 1h}\n", {}, options).time_limit_source, "run.time_limit");
    // The other ranks, which ask nobody, read the same.
    EXPECT_EQ(load_text(loaded.effective, "effective", {}, {.ranks = 1, .machine = machine_}).run,
              loaded.run);
}

TEST_F(Load, LimitsNoTimeWithoutAJobOrWhenToldSo) {
    EXPECT_EQ(run("").run.time_limit_seconds, std::nullopt);
    LoadOptions options{.ranks = 1};
    options.job_end = [] { return std::optional<JobEnd>{}; };
    EXPECT_EQ(run("", {}, options).run.time_limit_seconds, std::nullopt);
    options.job_end = []() -> std::optional<JobEnd> {
        throw std::logic_error{"asked although nobody wants to know"};
    };
    EXPECT_EQ(run("run: {time_limit: none}\n", {}, options).run.time_limit_seconds, std::nullopt);
    EXPECT_EQ(run("run: {time_limit: 1h30m}\n", {}, options).run.time_limit_seconds, 5400);
}

TEST_F(Load, LeavesAJobThatIsNearlyOverOneSecond) {
    LoadOptions options{.ranks = 1};
    options.job_end = [] { return std::optional{JobEnd{calendar_seconds() + 5, "Slurm job 7"}}; };
    EXPECT_EQ(run("", {}, options).run.time_limit_seconds, 1);
}

TEST_F(Load, ReportsAMissingDeck) {
    const LoadedDeck loaded = load("no/such/deck.yaml", {}, {});

    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.found.sorted().front().text(),
              "ziggurat: error: no/such/deck.yaml: cannot read the deck 'no/such/deck.yaml' (there is no "
              "such file). "
              "Check the path.");
}

}  // namespace
}  // namespace ziggurat::deck
