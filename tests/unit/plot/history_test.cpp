#include "plot/history.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::plot {
namespace {

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
    EXPECT_EQ(history.restarts, std::vector<std::int64_t>{1});
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
    expect_refusal(folder.file("fifo"), "is no regular file");
    write(folder.file("metrics.jsonl"), "{\"event\":\"start\",\"name\":\"x\"}\n");
    expect_refusal(folder.path(), "tells of no step");
}

}  // namespace
}  // namespace ziggurat::plot
