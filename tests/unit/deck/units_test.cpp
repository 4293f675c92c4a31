#include "deck/values/quantities.hpp"

#include <gtest/gtest.h>

namespace ziggurat::deck {
namespace {

TEST(ReadBytes, NeedsAUnit) {
    EXPECT_EQ(read_bytes("512MiB"), 512LL << 20);
    EXPECT_EQ(read_bytes("2 TiB"), 2LL << 40);
    EXPECT_EQ(read_bytes("1.5GiB"), 3LL << 29);
    EXPECT_EQ(read_bytes("80GB"), 80'000'000'000);
    EXPECT_EQ(read_bytes("9007199254740993B"), 9007199254740993) << "beyond what a double holds";
    for (const char* text : {"512", "", "MiB", "1Gb", "-1MiB", "1 MiB MiB", "1e30TiB"}) {
        EXPECT_EQ(read_bytes(text), std::nullopt) << text;
    }
}

TEST(WriteBytes, ReadsBackToTheSame) {
    for (const std::int64_t bytes : {0LL, 1LL, 4096LL, 5000LL, 3LL << 29, 66571993088LL, 1LL << 45}) {
        EXPECT_EQ(read_bytes(write_bytes(bytes)), bytes) << write_bytes(bytes);
    }
}

TEST(ReadDuration, AddsItsParts) {
    EXPECT_EQ(read_duration("30s"), 30);
    EXPECT_EQ(read_duration("10min"), 600);
    EXPECT_EQ(read_duration("23h50m"), 85800);
    EXPECT_EQ(read_duration("2d"), 172800);
    EXPECT_EQ(read_duration("1h 30min"), 5400);
    EXPECT_EQ(read_duration("250ms"), 0.25);
    for (const char* text : {"", "30", "h", "5min2h", "1h1h", "10 parsecs", "1e3s", "-1s"}) {
        EXPECT_EQ(read_duration(text), std::nullopt) << text;
    }
}

TEST(WriteDuration, ReadsBackToTheSame) {
    for (const double seconds : {0.25, 30.0, 90.0, 85800.0, 1e9, 86400e9, 1e-6}) {
        EXPECT_EQ(read_duration(write_duration(seconds)), seconds) << write_duration(seconds);
    }
}

TEST(WriteDuration, HasTheLargestWholeUnit) {
    EXPECT_EQ(write_duration(1800), "30min");
    EXPECT_EQ(write_duration(7200), "2h");
    EXPECT_EQ(write_duration(172800), "2d");
    EXPECT_EQ(write_duration(90), "90s");
}

TEST(ReadInteger, TakesSuffixesAndItsNoun) {
    EXPECT_EQ(read_integer("500"), 500);
    EXPECT_EQ(read_integer("-3"), -3);
    EXPECT_EQ(read_integer("20G tokens", "tokens"), 20'000'000'000);
    EXPECT_EQ(read_integer("200M"), 200'000'000);
    EXPECT_EQ(read_integer("1.5k"), 1500);
    EXPECT_EQ(read_integer("1e6"), 1'000'000);
    for (const char* text : {"", "1.5", "many", "5 tokens", "0x10", "1_000", "5 5", "1.0001k"}) {
        EXPECT_EQ(read_integer(text, "steps"), std::nullopt) << text;
    }
}

TEST(ReadReal, TakesWhatYamlTakesForAString) {
    EXPECT_EQ(read_real("1e-8"), 1e-8);
    EXPECT_EQ(read_real("3.0e-4"), 3e-4);
    EXPECT_EQ(read_real("-12"), -12);
    EXPECT_EQ(read_real(".5"), 0.5);
    for (const char* text : {"", "nan", "inf", "1,5", "1e999", "0x1p3", "--1", "1 2"}) {
        EXPECT_EQ(read_real(text), std::nullopt) << text;
    }
}

TEST(WriteReal, IsANumberForYamlReadersToo) {
    EXPECT_EQ(write_real(1e-8), "1.0e-08");
    EXPECT_EQ(write_real(0.5), "0.5");
    for (const double value : {1e-8, 0.1, 3e-4, 500000.0, 1.0 / 3.0}) {
        EXPECT_EQ(read_real(write_real(value)), value);
    }
}

TEST(ReadShare, IsPercent) {
    EXPECT_EQ(read_share("94%"), 0.94);
    EXPECT_EQ(read_share("100%"), 1);
    for (const char* text : {"94", "0.94", "101%", "%", "-1%"}) {
        EXPECT_EQ(read_share(text), std::nullopt) << text;
    }
}

TEST(ReadExtent, TakesStepsTokensAndShares) {
    EXPECT_EQ(read_training_length("20 steps"), (TrainingLength{.steps = 20}));
    EXPECT_EQ(read_training_length("200M tokens"),
              (TrainingLength{.tokens = 200'000'000, .unit = TrainingLength::Unit::tokens}));
    EXPECT_EQ(read_training_length("10%"),
              (TrainingLength{.share = 0.1, .unit = TrainingLength::Unit::share}));
    EXPECT_EQ(read_training_length("20"), std::nullopt);
    EXPECT_EQ(read_training_length("20min"), std::nullopt);
}

TEST(ReadIntervalPart, TakesEachUnitOnce) {
    spec::Interval interval{.steps = 0};

    EXPECT_TRUE(read_interval_part("100 steps", interval));
    EXPECT_TRUE(read_interval_part("30min", interval));
    EXPECT_EQ(interval, (spec::Interval{.steps = 100, .tokens = 0, .seconds = 1800}));
    EXPECT_EQ(write_interval(interval), "[100 steps, 30min]");
    EXPECT_FALSE(read_interval_part("200 steps", interval));
    EXPECT_FALSE(read_interval_part("100", interval));
    EXPECT_FALSE(read_interval_part("10%", interval));
}

TEST(WriteText, EscapesWhatADeckWouldReadOtherwise) {
    EXPECT_EQ(write_text("a \"b\" \\ ${c} $d\n"), "\"a \\\"b\\\" \\\\ $${c} $d\\x0a\"");
}

}  // namespace
}  // namespace ziggurat::deck
