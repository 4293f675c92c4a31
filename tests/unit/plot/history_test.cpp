#include "plot/history_reader.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::plot {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const std::string& text) {
    std::ofstream{path, std::ios::binary} << text;
}

constexpr const char* whole = R"({"event":"start","name":"small","ranks":2,"parameters":1000}
{"event":"step","step":1,"loss":5.5,"step_s":0.5,"tok_s":100,"stall_data_s":0.1,"stall_nvme_read_s":0.25}
{"event":"step","step":2,"loss":null,"step_s":0.5,"tok_s":120}
{"event":"step","step":3,"loss":null,"loss_nonfinite":true,"step_s":0.5,"tok_s":120}
{"event":"validate","step":3,"loss":5.25}
{"event":"signal","signal":"SIGUSR1","step":3}
)";

TEST(History, ReadsStepsValidationsAndTheNameOfARun) {
    const test::ScratchFolder folder;
    write(folder.file("metrics.jsonl"), whole);

    const History history = read_history(folder.path());

    EXPECT_EQ(history.path, folder.file("metrics.jsonl"));
    EXPECT_EQ(history.name, "small");
    EXPECT_EQ(history.ranks, 2);
    EXPECT_EQ(history.parameters, 1000);
    ASSERT_EQ(history.steps.size(), 3U);
    EXPECT_EQ(history.steps[0].loss, 5.5);
    EXPECT_EQ(history.steps[0].tok_s, 100);
    EXPECT_FLOAT_EQ(history.steps[0].stall_s[5], 0.25F);
    EXPECT_TRUE(history.waits_for(0) && history.waits_for(5) && !history.waits_for(1));
    EXPECT_FALSE(history.steps[1].loss.has_value());
    EXPECT_TRUE(history.steps[1].is_loss_finite);
    EXPECT_FALSE(history.steps[2].is_loss_finite);
    ASSERT_EQ(history.validations.size(), 1U);
    EXPECT_EQ(history.validations[0].loss, 5.25);
    EXPECT_EQ(history.bad_lines, 0);
    EXPECT_EQ(read_history(folder.file("metrics.jsonl")).steps.size(), 3U);
}

TEST(History, ReadsNormsOfUnits) {
    const test::ScratchFolder folder;
    write(folder.file("metrics.jsonl"), R"({"event":"step","step":1,"loss":3}
{"event":"norms","step":1,"gradient":{"embedding":0.5,"head":null,"head_nonfinite":true},"weights":{"embedding":9,"head":8},"update":{"embedding":0,"head":0}}
{"event":"norms","step":2,"gradient":{"embedding":7},"weights":{"embedding":7},"update":{"embedding":7}}
{"event":"resume","step":1}
{"event":"norms","step":2,"gradient":{"embedding":1,"head":2},"weights":{"embedding":3,"head":4},"update":{"embedding":5,"head":6}}
{"event":"norms"}
)");

    const History history = read_history(folder.path());

    EXPECT_EQ(history.units, (std::vector<std::string>{"embedding", "head"})) << "a flag is not a unit";
    ASSERT_EQ(history.unit_norms.size(), 2U);
    EXPECT_EQ(history.unit_norms[0].norms[0][0], 0.5);
    EXPECT_TRUE(std::isnan(history.unit_norms[0].norms[0][1]));
    EXPECT_EQ(history.unit_norms[1].norms[2], (std::vector<double>{5, 6}));
    EXPECT_EQ(history.bad_lines, 1);
}

TEST(History, WhatIsDoneAgainAfterARestartCountsOnce) {
    const test::ScratchFolder folder;
    write(folder.file("metrics.jsonl"), R"({"event":"step","step":1,"loss":3}
{"event":"step","step":2,"loss":2}
{"event":"step","step":3,"loss":1}
{"event":"validate","step":3,"loss":9}
{"event":"resume","step":1}
{"event":"step","step":2,"loss":20}
{"event":"step","step":3,"loss":10}
{"event":"validate","step":3,"loss":7}
)");

    const History history = read_history(folder.path());

    ASSERT_EQ(history.steps.size(), 3U);
    EXPECT_EQ(history.steps[1].loss, 20);
    EXPECT_EQ(history.steps[2].loss, 10);
    ASSERT_EQ(history.validations.size(), 1U);
    EXPECT_EQ(history.validations[0].loss, 7);
    ASSERT_EQ(history.marks.size(), 1U);
    EXPECT_EQ(history.marks[0].kind, MarkKind::resume);
    EXPECT_EQ(history.marks[0].step, 1);
}

TEST(History, PassesOverLinesThatAreNone) {
    const test::ScratchFolder folder;
    const std::string nested(5000, '[');
    write(folder.file("metrics.jsonl"), std::string{whole} + "{\"event\":\"step\",\"st\n" + nested +
                                            "\n[1]\n" +
                                            R"({"event":"step","step":-4})"
                                            "\n"
                                            R"({"event":"step","step":1e3})"
                                            "\n" +
                                            R"({"event":"step","step":4,"loss":1})"
                                            "\n" +
                                            R"({"event":"step","step":5,"lo)");

    const History history = read_history(folder.path());

    EXPECT_EQ(history.steps.back().step, 4);
    EXPECT_EQ(history.bad_lines, 5);
    EXPECT_EQ(history.first_bad_line, 7);
    EXPECT_TRUE(history.is_last_line_cut);
}

void expect_refusal(const std::string& run, const std::string& words) {
    try {
        read_history(run);
        FAIL() << run;
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2);
        EXPECT_NE(std::string{error.what()}.find(words), std::string::npos) << error.what();
    }
}

TEST(History, RefusesWhatHasNothingToShow) {
    const test::ScratchFolder folder;
    expect_refusal(folder.file("none"), "/none' is not there");
    expect_refusal(folder.path(), "has no metrics.jsonl");
    ::mkfifo(folder.file("fifo").c_str(), 0600);
    expect_refusal(folder.file("fifo"), "is not a regular file");
    write(folder.file("metrics.jsonl"), "{\"event\":\"start\",\"name\":\"x\"}\n");
    expect_refusal(folder.path(), "has no completed step");
    fs::resize_file(folder.file("metrics.jsonl"), std::uintmax_t{1} << 40);
    expect_refusal(folder.path(), "line 2 of '" + folder.file("metrics.jsonl") + "' is too long");
}

TEST(History, TellsOfMemorySavesAndEvents) {
    const test::ScratchFolder folder;
    write(folder.file("metrics.jsonl"),
          R"({"event":"start","time":5,"ranks":2,"steps":9,"device_budget_B":100,"nvme_budget_B":7}
{"event":"step","time":6,"step":1,"loss":3,"tokens":64,"device_peak_B":10,"nvme_B":30,"mfu":0.25,"lr":0.5,"grad_norm":2}
{"event":"checkpoint_begin","time":6,"step":1,"bytes":5}
{"event":"checkpoint_end","time":7,"step":1,"ok":true,"bytes":5,"seconds":2,"stood_still_s":1,"reason":null}
{"event":"checkpoint_end","time":8,"step":2,"ok":false,"reason":"full\u001b[2J"}
{"event":"end","time":9,"step":2,"exit_code":3,"reason":"no memory"}
)");
    const auto history = read_history(folder.path());

    EXPECT_EQ(history.planned_steps, 9);
    EXPECT_EQ(history.budget_bytes, (std::array<double, 3>{100, 0, 7}));
    EXPECT_EQ(history.steps[0].tier_bytes, (std::array<double, 3>{10, 0, 30}));
    EXPECT_TRUE(history.uses(MemoryTier::device) && !history.uses(MemoryTier::host) &&
                history.uses(MemoryTier::nvme));
    EXPECT_EQ(history.steps[0].tokens, 64);
    EXPECT_EQ(history.steps[0].mfu, 0.25);
    ASSERT_EQ(history.saves.size(), 2U);
    EXPECT_TRUE(history.saves[0].is_ok);
    EXPECT_EQ(history.saves[0].seconds, 2);
    EXPECT_EQ(history.saves[1].reason, "full\\x1b[2J") << "nothing that steers a terminal";
    ASSERT_TRUE(history.end.has_value());
    EXPECT_EQ(history.end->exit_code, 3);
    EXPECT_EQ(history.last_time, 9);
    std::vector<std::string> texts;
    for (const auto& event : history.events) {
        texts.push_back(event.text);
    }
    EXPECT_EQ(texts, (std::vector<std::string>{"start on 2 ranks", "a save failed: full\\x1b[2J",
                                               "ends with 3: no memory"}));
}

TEST(History, HasTheObjectiveAndTheRewardsOfPairs) {
    const test::ScratchFolder folder;
    write(folder.file("metrics.jsonl"),
          R"({"event":"start","objective":"ipo"}
{"event":"step","step":1,"loss":2,"loss_pairs":8,"reward_chosen":0.5,"reward_rejected":-0.25,"reward_margin":0.75,"reward_accuracy":0.625}
{"event":"step","step":2,"loss":2,"reward_chosen":null,"reward_rejected":-0.25,"reward_accuracy":0.625}
{"event":"validate","step":2,"loss":1,"reward_chosen":1,"reward_rejected":2,"reward_margin":-1,"reward_accuracy":0}
)");
    auto history = read_history(folder.path());

    EXPECT_EQ(history.loss_kind, LossKind::ipo);
    ASSERT_TRUE(history.steps[0].rewards.has_value());
    EXPECT_EQ(history.steps[0].rewards->margin(), 0.75);
    EXPECT_EQ(history.steps[0].rewards->accuracy, 0.625);
    EXPECT_FALSE(history.steps[1].rewards.has_value()) << "it is not finite";
    EXPECT_EQ(history.validations[0].rewards->margin(), -1);
    EXPECT_TRUE(history.has_rewards());

    // Metrics of older programs do not name the objective.
    write(folder.file("metrics.jsonl"),
          R"({"event":"step","step":1,"loss":2,"reward_chosen":0.5,"reward_rejected":0,"reward_accuracy":1}
)");
    history = read_history(folder.path());
    EXPECT_EQ(history.loss_kind, LossKind::pairs);
    EXPECT_EQ(loss_unit(history.loss_kind), "per pair");
}

TEST(History, MarksChangesOfWeightsOnce) {
    const test::ScratchFolder folder;
    const auto step = [](int number, const char* shares) {
        return R"({"event":"step","step":)" + std::to_string(number) + R"(,"loss":1,"share_by_source":{)" +
               shares + "}}\n";
    };
    const char *first = R"("a":0.7,"b":0.3)", *second = R"("a":0.2,"b":0.8)",
               *third = R"("a":0.2,"b":0.3,"c":0.5)";
    const auto begin = step(1, first) + step(2, R"("b":0.30000000000000004,"a":0.7)") + step(3, second);
    write(folder.file("metrics.jsonl"), begin + step(4, second));
    auto history = read_history(folder.path());
    ASSERT_EQ(history.marks.size(), 1U);
    EXPECT_EQ(history.marks[0].kind, MarkKind::weights);
    EXPECT_EQ(history.marks[0].step, 2) << "as in the deck: after two steps";
    EXPECT_EQ(history.marks[0].text, "weights: a 70 to 20 %, b 30 to 80 %");
    EXPECT_EQ(history.marks[0].shares, (std::vector<SourceShare>{{"a", 0.2}, {"b", 0.8}}));
    EXPECT_EQ(history.events.back().text, history.marks[0].text);

    const auto steps_of_weights = [&] {
        std::vector<std::int64_t> steps;
        for (const auto& mark : history.marks) {
            if (mark.kind == MarkKind::weights) {
                steps.push_back(mark.step);
            }
        }
        return steps;
    };
    // A job repeats the change; then a job with another deck trains from step 3 on.
    const std::string resume = R"({"event":"resume","step":)";
    write(folder.file("metrics.jsonl"), begin + resume + "1}\n" + step(2, first) + step(3, second) + resume +
                                            "3}\n" + step(4, third) + step(5, third));
    history = read_history(folder.path());
    EXPECT_EQ(steps_of_weights(), (std::vector<std::int64_t>{2, 3}));
    // A job without the change: it was forgotten.
    write(folder.file("metrics.jsonl"), begin + resume + "2}\n" + step(3, first));
    history = read_history(folder.path());
    EXPECT_TRUE(steps_of_weights().empty());
    // Old metrics have losses by source without shares; a run of one source has neither.
    write(folder.file("metrics.jsonl"),
          R"({"event":"step","step":1,"loss":1,"loss_by_source":{"a":1,"b":1}}
)" + step(2, first));
    history = read_history(folder.path());
    EXPECT_TRUE(steps_of_weights().empty());
    write(folder.file("metrics.jsonl"), "{\"event\":\"step\",\"step\":1,\"loss\":1}\n" + step(2, first));
    history = read_history(folder.path());
    EXPECT_EQ(steps_of_weights(), (std::vector<std::int64_t>{1}));
}

TEST(HistoryReader, ReadsWhatHasCome) {
    const test::ScratchFolder folder;
    const auto path = folder.file("metrics.jsonl");
    write(path, "");
    HistoryReader reader{folder.path()};
    reader.read();
    EXPECT_TRUE(reader.history().steps.empty());

    const std::string one = "{\"event\":\"step\",\"step\":1,\"loss\":3}\n",
                      two = "{\"event\":\"step\",\"step\":2}";
    std::ofstream{path, std::ios::app} << one << two.substr(0, 9);
    reader.read();
    EXPECT_EQ(reader.history().steps.size(), 1U);
    EXPECT_TRUE(reader.history().is_last_line_cut);

    std::ofstream{path, std::ios::app} << two.substr(9) << "\n{\"event\":\"resume\",\"step\":1}\nrubbish\n";
    reader.read();
    reader.read();
    EXPECT_EQ(reader.history().steps.size(), 2U);
    EXPECT_FALSE(reader.history().is_last_line_cut);
    EXPECT_EQ(reader.history().marks.size(), 1U) << "each line once";
    EXPECT_EQ(reader.history().bad_lines, 1);
    EXPECT_EQ(reader.history().first_bad_line, 4);

    write(path, one);  // a new run in the same file
    reader.read();
    EXPECT_EQ(reader.history().steps.size(), 1U);
    EXPECT_TRUE(reader.history().marks.empty());
}

}  // namespace
}  // namespace ziggurat::plot
