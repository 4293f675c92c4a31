#include "deck/run_record.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.hpp"
#include "deck/load.hpp"

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

/// A run in `run` that has recorded its deck, and copies of it.
///
/// Its time limit was that of a job with an hour left.
class RunRecord : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_ / "run" / "ckpt" / "step-000000010");
        write("text.txt", std::string(5000, 'a'));
        write("deck.yaml",
              "deck_version: 1\n"
              "run: {dir: '" +
                  in("run") +
                  "'}\n"
                  "model: {family: gpt2, layers: 2, hidden: 32, heads: 2}\n"
                  "data: {seq: 16, train: [{format: text, path: '" +
                  in("text.txt") +
                  "'}]}\n"
                  "train: {steps: 100, global_batch: 24, micro_batch: 2}\n");
        LoadOptions in_job = options_;
        in_job.job_end = [] { return JobDeadline{.at = calendar_seconds() + 3600, .source = "Slurm job 7"}; };
        const LoadedDeck begun = load(in("deck.yaml"), {}, in_job);
        ASSERT_TRUE(begun.ok()) << begun.found.print();
        write("run/deck.effective.yaml", begun.effective);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string in(const std::string& name) const { return (folder_ / name).string(); }
    void write(const std::string& name, const std::string& text) const { std::ofstream{in(name)} << text; }
    void copy_run_to(const std::string& name) const {
        fs::copy(in("run"), in(name), fs::copy_options::recursive);
    }
    LoadedDeck load_here(const std::string& name, const std::vector<std::string>& overrides = {}) const {
        LoadedDeck loaded = load(in(name), overrides, options_);
        EXPECT_TRUE(loaded.ok()) << loaded.found.print();
        return loaded;
    }

    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_run_record_" + std::to_string(::getpid()));
    LoadOptions options_{
        .ranks = 1, .threads = 1, .machine = spec::MachineSpec{.name = "m", .host_bytes = 1LL << 36}};
};

TEST_F(RunRecord, IsTheDeckOfTheFolderOfItsRun) {
    const auto of_folder = load_here("run", {"train.steps=200"});
    EXPECT_EQ(of_folder.run.run.dir, in("run"));
    EXPECT_EQ(of_folder.run.train.steps, 200);
    EXPECT_EQ(of_folder.run.train.global_batch, 24);
    EXPECT_FALSE(of_folder.reports_of_record) << of_folder.found.print();
    EXPECT_EQ(load_here("run/").run.run.dir, in("run"));
    EXPECT_EQ(load_here("run/deck.effective.yaml").run.run.dir, in("run"));
}

TEST_F(RunRecord, TrainsInTheFolderThatItLiesIn) {
    copy_run_to("copy");
    for (const char* named : {"copy", "copy/deck.effective.yaml"}) {
        const auto loaded = load_here(named);
        EXPECT_EQ(loaded.run.run.dir, in("copy"));
        EXPECT_TRUE(loaded.reports_of_record);
        EXPECT_NE(
            loaded.found.print().find("the run continues in '" + in("copy") + "', the folder of this deck"),
            std::string::npos)
            << loaded.found.print();
        const auto line = loaded.effective.find("dir: \"" + in("copy") + "\" ");
        ASSERT_NE(line, std::string::npos) << loaded.effective;
        EXPECT_NE(loaded.effective.substr(line, loaded.effective.find('\n', line) - line).find(" # deck "),
                  std::string::npos)
            << loaded.effective;
    }
    EXPECT_EQ(load_here("copy", {"run.dir=elsewhere"}).run.run.dir, "elsewhere");
}

TEST_F(RunRecord, IsADeckLikeAnyOtherUnderAnotherName) {
    fs::copy(in("run/deck.effective.yaml"), in("mine.yaml"));
    const auto loaded = load_here("mine.yaml");
    EXPECT_EQ(loaded.run.run.dir, in("run"));
    EXPECT_TRUE(loaded.run.run.time_limit_seconds.has_value());
}

TEST_F(RunRecord, LeavesTheTimeLimitOfAJobThatIsOver) {
    EXPECT_FALSE(load_here("run").run.run.time_limit_seconds.has_value());
    EXPECT_EQ(load_here("run", {"run.time_limit=1h"}).run.run.time_limit_seconds, 3600);
    const auto written = load(in("deck.yaml"), {"run.time_limit=2h"}, options_);
    write("run/deck.effective.yaml", written.effective);
    EXPECT_EQ(load_here("run").run.run.time_limit_seconds, 7200) << "that somebody has written";
}

TEST_F(RunRecord, GoesOnThoughItWasBegunAfresh) {
    const auto begun = load(in("deck.yaml"), {"run.resume=never"}, options_);
    write("run/deck.effective.yaml", begun.effective);
    const auto loaded = load_here("run");
    EXPECT_EQ(loaded.run.run.resume, spec::Resume::automatic);
    EXPECT_TRUE(loaded.reports_of_record);
    EXPECT_NE(loaded.found.print().find("the run resumes, as with run.resume=auto"), std::string::npos)
        << loaded.found.print();
    EXPECT_EQ(load_here("run", {"run.resume=never"}).run.run.resume, spec::Resume::never);
    EXPECT_EQ(load_here("run", {"run.dir=" + in("new")}).run.run.resume, spec::Resume::never);
}

TEST_F(RunRecord, ChoosesAnewForOtherRanks) {
    LoadOptions on_two = options_;
    on_two.ranks = 2;
    const auto begun = load(in("deck.yaml"), {"sharding.zero=1", "train.micro_batch=3"}, on_two);
    ASSERT_TRUE(begun.ok()) << begun.found.print();
    write("run/deck.effective.yaml", begun.effective);

    const auto on_one = load_here("run");
    EXPECT_EQ(on_one.run.parallel.data, 1);
    EXPECT_EQ(on_one.run.sharding.sum_group, 1);
    EXPECT_EQ(on_one.run.train.micro_batch, 3) << "that somebody has written";
    EXPECT_TRUE(on_one.reports_of_record);
    EXPECT_NE(on_one.found.print().find("the run had 2 ranks (automatic choices are made again)"),
              std::string::npos)
        << on_one.found.print();

    const auto as_it_was = load(in("run"), {}, on_two);
    EXPECT_EQ(as_it_was.run, begun.run);
    EXPECT_EQ(as_it_was.found.notes(), 0U) << as_it_was.found.print();
    EXPECT_EQ(as_it_was.effective, begun.effective) << "with its origins";
    const auto fixed = load(in("run"), {"parallel.data=2"}, options_);
    EXPECT_FALSE(fixed.ok()) << "the command line decides";
}

TEST_F(RunRecord, HasTheKeywordsOfTheDeckOnOtherRanks) {
    LoadOptions on_four = options_;
    on_four.ranks = 4;
    const std::vector<std::string> spans{"sharding={optimizer: all, gradients: node, sum_group: flat}",
                                         "train.micro_batch=3"};
    const auto begun = load(in("deck.yaml"), spans, on_four);
    ASSERT_TRUE(begun.ok()) << begun.found.print();
    EXPECT_EQ(begun.run.sharding.optimizer, 4);
    write("run/deck.effective.yaml", begun.effective);

    LoadOptions on_two = options_;
    on_two.ranks = 2;
    const auto resumed = load(in("run"), {}, on_two);
    ASSERT_TRUE(resumed.ok()) << resumed.found.print();
    EXPECT_EQ(resumed.run.sharding, load(in("deck.yaml"), spans, on_two).run.sharding);
    EXPECT_EQ(resumed.run.sharding.optimizer, 2);
    EXPECT_EQ(load(in("run"), {}, on_four).run, begun.run);
}

TEST_F(RunRecord, HasTheStagesOfTheDeckOnOtherRanks) {
    const auto choose = [](spec::RunSpec run, const spec::MachineSpec&) {
        run.tiers.open = {};
        for (auto& state : run.stages) {
            state.open = {};
        }
        return run;
    };
    options_.choose_homes = choose;
    LoadOptions on_four = options_;
    on_four.ranks = 4;
    const auto begun =
        load(in("deck.yaml"),
             {"parallel.pipeline={stages: 2, each: [{layers: 1}, {layers: 1, home: {activations: auto}}]}"},
             on_four);
    ASSERT_TRUE(begun.ok()) << begun.found.print();
    write("run/deck.effective.yaml", begun.effective);

    LoadOptions on_two = options_;
    on_two.ranks = 2;
    const auto resumed = load(in("run"), {}, on_two);
    ASSERT_TRUE(resumed.ok()) << resumed.found.print();
    EXPECT_EQ(resumed.run.parallel.stage_layers, begun.run.parallel.stage_layers);
}

TEST_F(RunRecord, HasTheMemoryAndTheCoresOfTheNodeOnWhichItResumes) {
    LoadOptions smaller = options_;
    smaller.machine->host_bytes = 1LL << 34;
    smaller.threads = 3;
    const auto fresh = load(in("deck.yaml"), {}, smaller);
    const auto resumed = load(in("run"), {}, smaller);
    ASSERT_TRUE(fresh.ok() && resumed.ok()) << resumed.found.print();
    EXPECT_EQ(resumed.run.tiers.device_budget_bytes, fresh.run.tiers.device_budget_bytes);
    EXPECT_EQ(resumed.run.tiers.host_budget_bytes, fresh.run.tiers.host_budget_bytes);
    EXPECT_EQ(resumed.run.parallel.threads, 3);

    const auto set = load(in("deck.yaml"), {"tiers.host.budget=1GiB", "parallel.threads=2"}, options_);
    write("run/deck.effective.yaml", set.effective);
    const auto as_set = load(in("run"), {}, smaller);
    EXPECT_EQ(as_set.run.tiers.host_budget_bytes, 1LL << 30) << "a deck or a command line has set it";
    EXPECT_EQ(as_set.run.parallel.threads, 2);
}

TEST_F(RunRecord, IsMissedInAFolderOfNoRun) {
    const auto inside = load(in("run/ckpt/step-000000010"), {}, options_);
    EXPECT_EQ(inside.found.exit_code(), 2);
    EXPECT_NE(inside.found.print().find("Did you mean '" + in("run") + "'?"), std::string::npos)
        << inside.found.print();
    fs::create_directories(in("empty"));
    const auto empty = load(in("empty"), {}, options_);
    EXPECT_NE(
        empty.found.print().find("is not the folder of a run (it has no deck.effective.yaml). Name a deck"),
        std::string::npos)
        << empty.found.print();
}

}  // namespace
}  // namespace ziggurat::deck
