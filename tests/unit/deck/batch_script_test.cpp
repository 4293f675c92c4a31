#include "deck/slurm/batch_script.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.hpp"

namespace ziggurat::deck {
namespace {

std::string shipped() {
    std::ifstream file{std::string{std::getenv("PROJECT_SOURCE_DIR")} + "/scripts/slurm/train.sbatch"};
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

/// Returns the lines of `text` that begin with `begin`, each with its line feed.
std::string lines(const std::string& text, const std::string& begin) {
    std::istringstream in{text};
    std::string found;
    for (std::string line; std::getline(in, line);) {
        found += line.starts_with(begin) ? line + "\n" : "";
    }
    return found;
}

TEST(BatchScript, AsksForWhatTheJobNeeds) {
    const auto script = batch_script(shipped(), {.program = "/opt/bin/ziggurat",
                                                 .deck = "a.yaml",
                                                 .overrides = {"train.steps=5"},
                                                 .name = "gpt",
                                                 .nodes = 4,
                                                 .tasks_per_node = 8,
                                                 .time = "2-00",
                                                 .account = "physics",
                                                 .partition = "gpu",
                                                 .cpus_per_task = 14,
                                                 .gpus_per_node = 8});

    EXPECT_EQ(lines(script, "#SBATCH"),
              "#SBATCH --job-name=gpt\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node=8\n"
              "#SBATCH --time=2-00\n#SBATCH --account=physics\n#SBATCH --partition=gpu\n"
              "#SBATCH --cpus-per-task=14\n#SBATCH --gpus-per-node=8\n#SBATCH --signal=B:USR1@300\n"
              "#SBATCH --requeue\n#SBATCH --open-mode=append        # one log over all starts\n"
              "#SBATCH --output=%x-%j.out\n");
    EXPECT_EQ(lines(script, "set --"), "set -- a.yaml train.steps=5 \"$@\"\n");
    EXPECT_EQ(lines(script, "program_here="), "program_here=/opt/bin/ziggurat\n");
}

TEST(BatchScript, IsTheShippedOneButForWhatIsFilledIn) {
    const auto without = [](const std::string& text) {
        std::istringstream in{text};
        std::string kept;
        for (std::string line; std::getline(in, line);) {
            const bool is_filled = line.starts_with("#SBATCH") || line.starts_with("#   sbatch ") ||
                                   line.starts_with("set -- ") || line.starts_with("program_here=");
            kept += is_filled ? "" : line + "\n";
        }
        return kept;
    };

    EXPECT_EQ(without(batch_script(shipped(), {.program = "p", .deck = "d", .name = "n"})),
              without(shipped()));
    EXPECT_EQ(lines(batch_script(shipped(), {.program = "p", .deck = "d", .name = "n"}), "#SBATCH --gpus"),
              "");
}

TEST(BatchScript, LeavesTheClusterWhatNobodyAsksFor) {
    const auto script = batch_script(shipped(), {.program = "p", .deck = "d", .name = "n"});

    for (const char* option : {"account", "partition", "cpus-per-task", "gpus-per-node"}) {
        EXPECT_EQ(lines(script, std::string{"#SBATCH --"} + option), "");
    }
}

TEST(BatchScript, KeepsAnyNameWhole) {
    const auto script = batch_script(shipped(), {.program = "/opt/a b/ziggurat",
                                                 .deck = "it's.yaml",
                                                 .overrides = {"run.dir=$HOME `x`\n\"y\""},
                                                 .name = R"(a "b" \c #1)",
                                                 .account = "x y"});

    EXPECT_NE(script.find("\nset -- 'it'\\''s.yaml' 'run.dir=$HOME `x`\n\"y\"' \"$@\"\n"), std::string::npos);
    EXPECT_EQ(lines(script, "program_here="), "program_here='/opt/a b/ziggurat'\n");
    EXPECT_EQ(lines(script, "#SBATCH --job-name"), "#SBATCH --job-name=\"a \\\"b\\\" \\\\c #1\"\n");
    EXPECT_EQ(lines(script, "#SBATCH --account"), "#SBATCH --account=\"x y\"\n");
}

TEST(BatchScript, RefusesATextThatIsNotTheShippedOne) {
    EXPECT_THROW(batch_script("#!/bin/bash\n", {.program = "p", .deck = "d", .name = "n"}), Error);
}

TEST(BatchScript, ReadsTimesAsSlurmDoes) {
    EXPECT_EQ(slurm_seconds("90"), 5400);
    EXPECT_EQ(slurm_seconds("1:30"), 90);
    EXPECT_EQ(slurm_seconds("12:00:00"), 43200);
    EXPECT_EQ(slurm_seconds("2-00"), 172800);
    EXPECT_EQ(slurm_seconds("1-2:30"), 86400 + 9000);
    EXPECT_EQ(slurm_seconds("0-0:0:7"), 7);
    for (const char* text : {"", "0", "0:00", "-", "1-", "-1", "1:2:3:4", "1-2:3:4:5", "1h", "1:", ":1", " 1",
                             "+1", "1-1-1", "1:2-3", "99999999"}) {
        EXPECT_EQ(slurm_seconds(text), std::nullopt) << text;
    }
}

TEST(BatchScript, WarnsAShortJobLater) {
    EXPECT_EQ(warning_seconds(86400), 300);
    EXPECT_EQ(warning_seconds(1200), 300);
    EXPECT_EQ(warning_seconds(60), 15);
    EXPECT_EQ(warning_seconds(1), 1);
}

TEST(BatchScript, HasTheWordsOfEachTaskOfAnArray) {
    const auto script = batch_script(
        shipped(),
        {.program = "p", .deck = "a.yaml", .array = {{"run.seed=1"}, {"run.name=a b"}}, .name = "n"});
    EXPECT_EQ(lines(script, "#SBATCH --array"), "#SBATCH --array=0-1\n");
    EXPECT_NE(script.find("\ncase ${SLURM_ARRAY_TASK_ID:-} in\n  0) set -- a.yaml run.seed=1 \"$@\" ;;\n"
                          "  1) set -- a.yaml 'run.name=a b' \"$@\" ;;\n"),
              std::string::npos)
        << script;
}

}  // namespace
}  // namespace ziggurat::deck
