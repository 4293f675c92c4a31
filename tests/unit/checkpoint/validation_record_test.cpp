#include "checkpoint/validation_record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::checkpoint {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::int64_t>;

ValidationRecord record_of(const std::vector<ValidationRecord::Entry>& entries) {
    ValidationRecord record;
    for (const auto& [step, loss, data] : entries) {
        record.add(step, loss, data);
    }
    return record;
}

/// Returns the error message for `text`.
std::string trouble_with(const std::string& text) {
    try {
        ValidationRecord::parse(text, "here");
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(ValidationRecord, FindsTheLowestLosses) {
    const auto record = record_of({{10, 3.0}, {20, 1.5}, {30, std::nan("")}, {40, 1.5}, {50, 2.0}});

    EXPECT_EQ(record.best(0), Steps{});
    EXPECT_EQ(record.best(1), Steps{20});
    EXPECT_EQ(record.best(3), (Steps{20, 40, 50}));
    EXPECT_EQ(record.best(9), (Steps{20, 40, 50, 10}));
}

TEST(ValidationRecord, ComparesNoLossesOfDifferentData) {
    const auto record =
        record_of({{10, 1.0}, {20, 0.5, 7}, {30, 0.25, 7}, {40, 3.0, 8}, {50, 2.0, 8}, {60, 2.5, 8}});

    EXPECT_EQ(record.best(1), (Steps{50, 30, 10})) << "one of each data, the latest first";
    EXPECT_EQ(record.best(2), (Steps{50, 60, 30, 20, 10}));
    EXPECT_EQ(record.best(0), Steps{});
    EXPECT_EQ(record.text().substr(0, 32), "10 1\n20 0.5 0000000000000007\n30 ");
    EXPECT_EQ(ValidationRecord::parse(record.text(), "here").entries(), record.entries());
}

TEST(ValidationRecord, ForgetsAPastThatWasGivenUp) {
    auto record = record_of({{10, 3.0}, {20, 1.5}, {30, 1.0}});

    record.add(20, 2.5);

    EXPECT_EQ(record.entries(), (std::vector<ValidationRecord::Entry>{{10, 3.0}, {20, 2.5}}));
    record.forget_after(19);
    EXPECT_EQ(record.best(9), Steps{10});
}

TEST(ValidationRecord, IsReadBackToTheSameBits) {
    const test::ScratchFolder folder;
    const auto written = record_of({{7, 1.0 / 3}, {1000000007, 5e-324}, {1000000008, 1e308}});

    written.write(folder.path());

    EXPECT_EQ(ValidationRecord::read(folder.path()).entries(), written.entries());
    EXPECT_EQ(ValidationRecord::read(folder.path() + "/nothing").entries().size(), 0U);
    const auto unclear = ValidationRecord::parse(record_of({{1, std::nan("")}}).text(), "here");
    EXPECT_TRUE(std::isnan(unclear.entries().front().loss));
}

TEST(ValidationRecord, RefusesWhatItHasNotWritten) {
    for (const char* text :
         {"7", "7 ", "7 x", "7 1.5 2", "-7 1.5", " 7 1.5", "7 1.5\n\n8 2", "7 1.5\n7 1.4", "7\t1.5",
          "7 1.5 00000000000000071", "7 1.5 000000000000000x", "7 1.5 0000000000000007 "}) {
        EXPECT_NE(trouble_with(text).find("of 'here'"), std::string::npos) << '"' << text << '"';
    }
    EXPECT_NE(trouble_with("7 1.5\n8 1.4\n8 1.3\n").find("line 3"), std::string::npos);
    EXPECT_EQ(trouble_with("7 1.5\n8 1.4"), "");
}

TEST(ValidationRecord, NamesTheBestCheckpointThatIsThere) {
    const test::ScratchFolder folder;
    const auto run = folder.path();
    for (const char* name : {"step-000000010", "step-000000020"}) {
        fs::create_directories(run + "/ckpt/" + name);
        std::ofstream{run + "/ckpt/" + name + "/COMPLETE"} << "{}";
    }
    record_of({{10, 2.0}, {20, 3.0}, {30, 1.0}}).write(run + "/ckpt");

    EXPECT_EQ(best_checkpoint(run + "/best"), run + "/ckpt/step-000000010");
    EXPECT_EQ(best_checkpoint(run + "/ckpt/best"), run + "/ckpt/step-000000010");
    EXPECT_EQ(best_checkpoint(run), std::nullopt);
    EXPECT_EQ(best_checkpoint(run + "/elsewhere/best"), std::nullopt);
    record_of({{30, 1.0}}).write(run + "/ckpt");
    EXPECT_THROW(best_checkpoint(run + "/best"), Error);
    fs::create_directory(run + "/best");  // another run with that name
    EXPECT_EQ(best_checkpoint(run + "/best"), std::nullopt);
}

}  // namespace
}  // namespace ziggurat::checkpoint
