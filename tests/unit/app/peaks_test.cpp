/// Peak rate for utilisation: the best of short samples, and of earlier runs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "app/bench/peak_cache.hpp"
#include "app/bench/rate_samples.hpp"
#include "deck/machine/measured_machine.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::app {
namespace {

namespace fs = std::filesystem;

TEST(RateSamples, TakeTheFastest) {
    RateSamples samples{100, 0, 1};
    EXPECT_EQ(samples.best(), 0);
    for (const double seconds : {0.5, 0.02, 0.04}) {
        EXPECT_TRUE(samples.wants_more());
        samples.add(seconds);
    }
    EXPECT_DOUBLE_EQ(samples.best(), 5000);
}

TEST(RateSamples, EndWhenTimeIsOver) {
    RateSamples samples{100, 0, 1};
    samples.add(7);
    EXPECT_TRUE(samples.wants_more()) << "the first alone says little";
    samples.add(0.5);
    EXPECT_FALSE(samples.wants_more());
}

TEST(RateSamples, EndWhenThereAreMany) {
    RateSamples samples{100, 0, 1};
    double seconds = 1e-3;
    for (int i = 0; i < RateSamples::max; ++i) {
        EXPECT_TRUE(samples.wants_more()) << i;
        samples.add(seconds);
        seconds *= 0.95;
    }
    EXPECT_FALSE(samples.wants_more());
}

TEST(RateSamples, EndWhenTheyNoLongerImprove) {
    RateSamples samples{100, 0, 1};
    samples.add(1.2e-6);
    samples.add(1e-6);
    for (int i = 0; i < RateSamples::steady; ++i) {
        EXPECT_TRUE(samples.wants_more()) << i;
        samples.add(0.995e-6);
    }
    EXPECT_FALSE(samples.wants_more());
}

TEST(RateSamples, DoNotEndBelowTheKnownRate) {
    RateSamples samples{100, 1e9, 1};
    for (int i = 0; i < RateSamples::max; ++i) {
        EXPECT_TRUE(samples.wants_more()) << i;
        samples.add(1e-6);
    }
    EXPECT_FALSE(samples.wants_more());
}

TEST(RateSamples, LookNoFurtherThanWhatIsKnown) {
    RateSamples samples{100, 1000, 10};
    samples.add(0.2);  // half of it: another process computes
    samples.add(0.2);
    EXPECT_TRUE(samples.wants_more());
    samples.add(0.101);
    EXPECT_FALSE(samples.wants_more()) << samples.best();
}

/// Settings in a folder of the test.
class Peak : public ::testing::Test {
  protected:
    deck::Environment settings() const {
        return [this](const std::string& name) {
            return name == "XDG_CONFIG_HOME" ? std::optional{folder_.path()} : std::nullopt;
        };
    }

    test::ScratchFolder folder_;
};

TEST_F(Peak, IsKeptWhereItIsMore) {
    const PeakCache peaks{settings(), "this"};
    EXPECT_EQ(peaks.of("fp32"), 0);

    peaks.raise("fp32", 2e9);
    peaks.raise("bf16", 8e9);
    peaks.raise("fp32", 1e9);

    const PeakCache later{settings(), "this"};
    EXPECT_EQ(later.of("fp32"), 2e9);
    EXPECT_EQ(later.of("bf16"), 8e9);
    later.raise("fp32", 3.5e9);
    EXPECT_EQ(peaks.of("fp32"), 3.5e9);
    EXPECT_EQ(std::distance(fs::directory_iterator{folder_.path() + "/ziggurat"}, {}), 1)
        << "no other file is left";
    EXPECT_TRUE(fs::exists(fs::path{deck::measured_file(settings())}.replace_extension(".peaks.json")));
}

TEST_F(Peak, IsThatOfTheProgramAndTheHardware) {
    PeakCache{settings(), "old build; 2 x old processor"}.raise("fp32", 9e9);
    const PeakCache now{settings(), "this"};
    EXPECT_EQ(now.of("fp32"), 0);
    now.raise("fp32", 2e9);
    EXPECT_EQ(now.of("fp32"), 2e9) << "it is lower, and replaces that of the other build";
    EXPECT_EQ((PeakCache{settings(), "old build; 2 x old processor"}.of("fp32")), 0);
}

TEST_F(Peak, IsForgottenInSilenceWhereItCannotBeKept) {
    const PeakCache nowhere{[](const std::string&) { return std::optional<std::string>{}; }, "this"};
    nowhere.raise("fp32", 1e9);
    EXPECT_EQ(nowhere.of("fp32"), 0);

    fs::remove_all(folder_.path());
    const PeakCache no_settings{settings(), "this"};
    no_settings.raise("fp32", 1e9);
    EXPECT_FALSE(fs::exists(folder_.path())) << "nobody asked for a folder of settings";

    fs::create_directory(folder_.path());
    std::ofstream{folder_.path() + "/ziggurat"} << "a file where the folder would be";
    no_settings.raise("fp32", 1e9);
    EXPECT_EQ(no_settings.of("fp32"), 0);
}

TEST_F(Peak, IsNotReadFromAnythingElse) {
    for (const char* text :
         {"", "[", "[]", "{}", "7", R"({"schema": "ziggurat.peaks/1", "peaks": {"a": 1}})",
          R"({"schema": "ziggurat.peaks/2", "peaks": [1]})", R"({"schema": 1, "peaks": {"a": 1}})",
          R"({"schema": "ziggurat.peaks/2", "peaks": {"a": 1, "b": {"flops": 1}, "c": null}})",
          R"({"schema": "ziggurat.peaks/2", "peaks": {"a": {"flops": -1, "measured_with": "x"}}})",
          R"({"schema": "ziggurat.peaks/2", "peaks": {"a": {"flops": 1, "measured_with": 7}}})"}) {
        EXPECT_TRUE(read_peaks(text).empty()) << text;
    }
    const Peaks peaks{{"fp32 on host", {1.25e11, "one"}}, {"bf16", {7e14, "other"}}};
    EXPECT_EQ(read_peaks(write_peaks(peaks)), peaks);
}

TEST_F(Peak, IsThatOfRunsThatComputeAlike) {
    spec::RunSpec run;
    run.parallel.ranks_per_node = 2;
    run.parallel.threads = 4;
    run.precision.compute = spec::DType::bf16;
    EXPECT_EQ(setup_name(run), "bf16 on host, 2 ranks x 4 threads a node");
    run.precision.compute = spec::DType::f32;
    run.tiers.device = spec::DeviceKind::cuda;
    EXPECT_EQ(setup_name(run), "fp32 on a GPU");
}

}  // namespace
}  // namespace ziggurat::app
