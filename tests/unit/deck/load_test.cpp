#include "deck/load.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/clock.hpp"
#include "tests/unit/deck/load_fixture.hpp"

namespace ziggurat::deck {
namespace {

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
    EXPECT_EQ(run("parallel: {tensor: 2, pipeline: 2}\n", {}, LoadOptions{}).parallel.ranks, 4);
    EXPECT_EQ(run("parallel: {tensor: 2, data: 3}\n", {}, LoadOptions{}).parallel.ranks, 6);
}

TEST_F(Load, ReadsWhatIsShort) {
    const spec::RunSpec run = this->run(
        "optimizer: {clip_norm: 2.5}\n"
        "recompute: full\n"
        "schedule: linear\n"
        "tiers: {device: 1GiB}\n"
        "parallel: {tensor: 2, context: {degree: 2, kind: ring}, pipeline: 2}\n",
        {}, {.ranks = 8});

    EXPECT_EQ(run.optimizer.clip_norm, 2.5);
    EXPECT_EQ(run.recompute.kind, spec::RecomputeKind::full);
    EXPECT_EQ(run.schedule.kind, spec::ScheduleKind::linear);
    EXPECT_EQ(run.tiers.device_budget_bytes, 1LL << 30);
    EXPECT_EQ(run.parallel.tensor, 2);
    EXPECT_EQ(run.parallel.context, 2);
    EXPECT_EQ(run.parallel.stages, 2);
}

TEST_F(Load, TurnsStagesIntoSpans) {
    const LoadOptions plan{.ranks = 4};
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

TEST_F(Load, DoesNotShowLinesOfIncludedFilesThatAreNoDecks) {
    for (const char* text : {"DB_USER=me\nDB_WORD=s3cr3t\n", "machine host login me {s3cr3t\n",
                             "word: s3cr3t\n", "- s3cr3t\n", "a: {b: *s3cr3t}\n", "a: !s3cr3t b\n",
                             "s3cr3t: 1\ns3cr3t: 2\n", "a\ts3cr3t\n", "a: s3cr3t \xff\n"}) {
        write("other.txt", text);
        const auto shown = load_base("include: [other.txt]\n").found.print();

        EXPECT_EQ(shown.find("s3cr3t"), std::string::npos) << shown;
        EXPECT_NE(shown.find("the included file is not "), std::string::npos) << shown;
        EXPECT_NE(shown.find("other.txt:"), std::string::npos) << shown;
    }
    write("other.txt", "optimiser: {lr: 1.0e-3}\n");
    const auto misspelled = load_base("include: [other.txt]\n").found.print();
    EXPECT_NE(misspelled.find("optimiser: {lr"), std::string::npos) << misspelled;
}

TEST_F(Load, ReadsTheHangTimeoutAlone) {
    const Environment environment = [](const std::string& name) {
        return name == "HANG" ? std::optional<std::string>{"7s"} : std::nullopt;
    };
    const auto timeout = [&](const std::string& more, const std::vector<std::string>& overrides = {}) {
        return read_hang_timeout(write("deck.yaml", base() + more), overrides, environment);
    };
    EXPECT_EQ(timeout(""), 600);
    EXPECT_EQ(timeout("run: {hang_timeout: 5s}\n"), 5);
    EXPECT_EQ(timeout("run: {hang_timeout: 5s}\n", {"run.hang_timeout=2min"}), 120);
    EXPECT_EQ(timeout("run: {hang_timeout: '${env:HANG}'}\n"), 7);
    EXPECT_EQ(timeout("run: {hang_timeout: 5}\n"), std::nullopt);
    EXPECT_EQ(timeout("run: {hang_timeout: [\n"), std::nullopt);
    EXPECT_EQ(read_hang_timeout((folder_ / "none.yaml").string(), {}, environment), std::nullopt);
}

TEST_F(Load, CountsTokensInSteps) {
    const spec::RunSpec run = this->run("schedule: {kind: wsd, warmup: 800 tokens, decay: 10%}\n",
                                        {"train={tokens: 10k, global_batch: 24, micro_batch: 2}"});

    EXPECT_EQ(run.train.steps, 27) << "10,000 tokens in steps of 384, rounded up";
    EXPECT_EQ(run.schedule.warmup_steps, 3);
    EXPECT_EQ(run.schedule.decay_steps, 2);
}

TEST_F(Load, LimitsTheTimeByTheJobThatItIsIn) {
    LoadOptions options{.ranks = 1};
    options.job_end = [] { return std::optional{JobDeadline{calendar_seconds() + 3600.5, "Slurm job 7"}}; };

    const LoadedDeck loaded = load_base("", {}, options);

    ASSERT_TRUE(loaded.ok()) << loaded.found.print();
    EXPECT_NEAR(loaded.run.run.time_limit_seconds.value_or(0), 3600, 60);
    EXPECT_LE(loaded.run.run.time_limit_seconds.value_or(0), 3590) << "who started it has to leave, too";
    EXPECT_NE(loaded.effective.find("# auto: Slurm job 7 ends at 2"), std::string::npos) << loaded.effective;
    EXPECT_EQ(loaded.time_limit_source, "the end of Slurm job 7");
    EXPECT_EQ(load_base("run: {time_limit: 1h}\n", {}, options).time_limit_source, "run.time_limit");
    // Other ranks, which call no planner, read the same run.
    EXPECT_EQ(load_text(loaded.effective, "effective", {}, {.ranks = 1, .machine = machine_}).run,
              loaded.run);
}

TEST_F(Load, LimitsNoTimeWithoutAJobOrWhenToldSo) {
    EXPECT_EQ(run("").run.time_limit_seconds, std::nullopt);
    LoadOptions options{.ranks = 1};
    options.job_end = [] { return std::optional<JobDeadline>{}; };
    EXPECT_EQ(run("", {}, options).run.time_limit_seconds, std::nullopt);
    options.job_end = []() -> std::optional<JobDeadline> {
        throw std::logic_error{"asked although nobody wants to know"};
    };
    EXPECT_EQ(run("run: {time_limit: none}\n", {}, options).run.time_limit_seconds, std::nullopt);
    EXPECT_EQ(run("run: {time_limit: 1h30m}\n", {}, options).run.time_limit_seconds, 5400);
}

TEST_F(Load, LeavesAJobThatIsNearlyOverOneSecond) {
    LoadOptions options{.ranks = 1};
    options.job_end = [] { return std::optional{JobDeadline{calendar_seconds() + 5, "Slurm job 7"}}; };
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
