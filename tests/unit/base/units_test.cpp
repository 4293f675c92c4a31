#include "base/text/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace ziggurat {
namespace {

TEST(FormatBytes, ChoosesTheUnitThatLeavesAtLeastOne) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1.00 KiB");
    EXPECT_EQ(format_bytes(1524713390), "1.42 GiB");
    EXPECT_EQ(format_bytes(442703996928), "412.3 GiB");
    EXPECT_EQ(format_bytes(-2048), "-2.00 KiB");
}

TEST(FormatBytes, RoundsUpIntoTheNextUnit) {
    EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.00 MiB");
    EXPECT_EQ(format_bytes(std::numeric_limits<std::int64_t>::max()), "8192.0 PiB");
}

TEST(FormatBytesShort, TakesFiveCharactersAtMost) {
    EXPECT_EQ(format_bytes_short(0), "0");
    EXPECT_EQ(format_bytes_short(1500), "1.5K");
    EXPECT_EQ(format_bytes_short(61LL << 30), "61G");
    EXPECT_EQ(format_bytes_short(1023LL << 30), "1023G");
    for (std::int64_t bytes = 1; bytes > 0 && bytes < (1LL << 58); bytes = bytes * 3 + 1) {
        EXPECT_LE(format_bytes_short(bytes).size(), 5U) << bytes;
    }
}

TEST(FormatDuration, ShowsTwoUnitsAtMost) {
    EXPECT_EQ(format_duration(0), "0 us");
    EXPECT_EQ(format_duration(15e-6), "15 us");
    EXPECT_EQ(format_duration(0.0123), "12.3 ms");
    EXPECT_EQ(format_duration(0.812), "812 ms");
    EXPECT_EQ(format_duration(2.5), "2.50 s");
    EXPECT_EQ(format_duration(32.71), "32.7 s");
    EXPECT_EQ(format_duration(192), "3min12s");
    EXPECT_EQ(format_duration(7500), "2h05min");
    EXPECT_EQ(format_duration(31 * 3600), "1d07h");
    EXPECT_EQ(format_duration(-2.5), "-2.50 s");
}

TEST(FormatDuration, NeverShowsSixtySecondsOrMinutes) {
    EXPECT_EQ(format_duration(0.9996), "1.00 s");
    EXPECT_EQ(format_duration(59.97), "1min00s");
    EXPECT_EQ(format_duration(3599.8), "1h00min");
    EXPECT_EQ(format_duration(86399), "1d00h");
}

TEST(FormatDuration, SaysSoWhenThereIsNone) {
    EXPECT_EQ(format_duration(std::numeric_limits<double>::infinity()), "n/a");
    EXPECT_EQ(format_duration(std::numeric_limits<double>::quiet_NaN()), "n/a");
}

TEST(FormatCount, KeepsThreeToFourDigits) {
    EXPECT_EQ(format_count(950), "950");
    EXPECT_EQ(format_count(12.5), "12.50");
    EXPECT_EQ(format_count(8014), "8.01k");
    EXPECT_EQ(format_count(128224), "128.2k");
    EXPECT_EQ(format_count(11.07e9), "11.07G");
    EXPECT_EQ(format_count(999999), "1.00M");
}

TEST(FormatGrouped, PutsACommaAtEveryThirdDigit) {
    EXPECT_EQ(format_grouped(0), "0");
    EXPECT_EQ(format_grouped(999), "999");
    EXPECT_EQ(format_grouped(-1000), "-1,000");
    EXPECT_EQ(format_grouped(8030261248), "8,030,261,248");
}

}  // namespace
}  // namespace ziggurat
