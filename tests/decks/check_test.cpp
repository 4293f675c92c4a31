#include "app/check.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "deck/load.hpp"

namespace ziggurat::app {
namespace {

/// Runs `run_check` where the small text of the bad decks is, and keeps what it prints.
class Check : public ::testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::current_path(std::filesystem::path{std::getenv("PROJECT_SOURCE_DIR")} /
                                      "tests/decks/bad");
        options_.deck = "parts/base.yaml";
        options_.overrides = {"deck_version=1"};
        options_.ranks = 2;
    }

    int run() {
        ::testing::internal::CaptureStdout();
        ::testing::internal::CaptureStderr();
        const int code = run_check(options_);
        out_ = ::testing::internal::GetCapturedStdout();
        err_ = ::testing::internal::GetCapturedStderr();
        return code;
    }

    CheckOptions options_;
    std::string out_;
    std::string err_;
};

TEST_F(Check, SaysWhatAGoodDeckMeans) {
    options_.threads = 1;

    EXPECT_EQ(run(), 0);
    EXPECT_EQ(err_, "");
    EXPECT_EQ(
        out_,
        "model     gpt2, 2 layers, hidden 32, heads 2 (16 channels), mlp 128, vocab 256, embeddings tied\n"
        "size      34,176 parameters, 208.1kFLOP/token (6 (N - E) + 6 L C T), model state 600.8 KiB per "
        "rank\n"
        "batch     global 8 = micro 2 x accumulation 2 x data 2; 128 tokens a step, 1.28k tokens in 10 "
        "steps\n"
        "layout    ranks 2 = tensor 1 x context 1 x data 2 x stages 1; 2 a node, 1 threads each; spans of "
        "parameters 1, gradients 1, optimizer 1\n");
}

TEST_F(Check, NamesPretendedNodes) {
    options_.threads = 1;
    options_.overrides.push_back("debug.nodes=2");

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("; 2 a node, in all 2 pretended nodes, 1 threads each;"), std::string::npos) << out_;
}

TEST_F(Check, NamesHomesAwayFromTheDevice) {
    options_.overrides.push_back("tiers.home.optimizer=auto");
    options_.choose_homes = [](const spec::RunSpec& run, const spec::MachineSpec&) {
        auto chosen = run;
        chosen.tiers.open = {};
        chosen.tiers.optimizer = {0.25, 0.75, 0};
        return chosen;
    };

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("homes     parameters device, gradients device, optimizer {device: 25%, host: rest}, "
                        "activations device\n"),
              std::string::npos)
        << out_;
}

TEST_F(Check, NamesTheSecondCopy) {
    options_.ranks = 4;
    options_.overrides = {"deck_version=1", "sharding.zero=3", "sharding.secondary=2"};

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("optimizer 4, second copy 2\n"), std::string::npos) << out_;
}

TEST_F(Check, RefusesABadDeckWithCodeTwo) {
    options_.overrides.push_back("train.global_batch=7");

    EXPECT_EQ(run(), 2);
    EXPECT_EQ(out_, "");
    EXPECT_NE(err_.find("1 error, 0 warnings, 0 notes. Nothing was started."), std::string::npos) << err_;
}

TEST_F(Check, WarnsOfARunFolderThatCannotBeWritten) {
    options_.overrides.push_back("run.dir=parts/base.yaml/run");
    EXPECT_EQ(run(), 0);
    EXPECT_TRUE(err_.starts_with(
        "ziggurat: warning: run.dir: 'parts/base.yaml/run' cannot be written (Not a directory). "
        "'train' ends with 3: set run.dir to a folder of yours.\n"))
        << err_;

    options_.overrides.back() = "run.dir=parts/base.yaml";
    EXPECT_EQ(run(), 0);
    EXPECT_NE(err_.find("parts/base.yaml' is not a folder)"), std::string::npos) << err_;

    options_.overrides.back() = "run.dir=no/such/folder";
    EXPECT_EQ(run(), 0);
    EXPECT_EQ(err_, "");
}

TEST_F(Check, GivesCodeThreeWhenAFolderForNvmeIsMissing) {
    options_.overrides.push_back("tiers.nvme={paths: [/no/such/folder]}");
    EXPECT_EQ(run(), 3);
    EXPECT_NE(err_.find("cannot use '/no/such/folder' (No such file or directory)"), std::string::npos)
        << err_;

    options_.overrides.push_back("train.global_batch=7");
    EXPECT_EQ(run(), 2) << "the deck is wrong as well";
}

TEST_F(Check, GivesCodeThreeWhenMemoryDoesNotFit) {
    options_.memory = [](const spec::RunSpec& run, const spec::MachineSpec&) {
        return MemoryReport{.table = "heads " + std::to_string(run.model.heads) + "\n", .fits = false};
    };

    EXPECT_EQ(run(), 3);
    EXPECT_TRUE(out_.ends_with("heads 2\n")) << out_;
}

TEST_F(Check, PrintsADeckThatLoads) {
    options_.print = true;

    EXPECT_EQ(run(), 0);
    EXPECT_TRUE(deck::load_text(out_, "printed.yaml", {}, {.ranks = 2}).ok()) << out_;
}

TEST_F(Check, ExplainsAKey) {
    options_.explain = "train.micro_batch";
    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("takes    a whole number of sequences"), std::string::npos) << out_;

    options_.explain = "train.microbatch";
    EXPECT_EQ(run(), 2);
    EXPECT_NE(err_.find("Did you mean 'train.micro_batch'?"), std::string::npos) << err_;
}

TEST_F(Check, TakesADescribedMachine) {
    options_.machine = "../../../decks/machines/cpu-64.yaml";
    options_.print = true;

    EXPECT_EQ(run(), 0);
    EXPECT_NE(out_.find("# auto: 64 cores / 2 ranks of a node"), std::string::npos) << out_;

    options_.machine = "./mine.yaml";
    EXPECT_EQ(run(), 2);
    EXPECT_NE(err_.find("ziggurat: error: ./mine.yaml: cannot read the machine file './mine.yaml'"),
              std::string::npos)
        << err_;
}

TEST_F(Check, SaysWhichMachinesThereAreAndWhichWasMeant) {
    std::filesystem::current_path(std::getenv("PROJECT_SOURCE_DIR"));
    options_.deck = "tests/decks/bad/parts/base.yaml";
    options_.machine = "dgx-h10";

    EXPECT_EQ(run(), 2);
    EXPECT_TRUE(err_.starts_with(
        "ziggurat: error: --machine: there is no machine 'dgx-h10' (there are cpu-64, dgx-2, "
        "dgx-h100, dgx-h200, laptop, rtx-4090, v100-32gb). Did you mean 'dgx-h100'? A file of your "
        "own is named with its path, as ./mine.yaml.\n"))
        << err_;
}

}  // namespace
}  // namespace ziggurat::app
