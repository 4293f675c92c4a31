#include "base/text/json_number.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

namespace ziggurat {
namespace {

std::string number(double value) {
    std::string text;
    append_json_number(text, value);
    return text;
}

std::string quoted(std::string_view value) {
    std::string text;
    append_json_string(text, value);
    return text;
}

TEST(JsonNumber, ReadsBackToTheSameBits) {
    std::mt19937_64 random{7};
    for (int i = 0; i < 20000; ++i) {
        const auto value = std::bit_cast<double>(random());
        if (std::isfinite(value)) {
            EXPECT_EQ(std::bit_cast<std::uint64_t>(std::strtod(number(value).c_str(), nullptr)),
                      std::bit_cast<std::uint64_t>(value));
        }
    }
    EXPECT_EQ(number(0.1), "0.1");
    EXPECT_EQ(number(-0.0), "-0");
    EXPECT_EQ(number(5e-324), "5e-324");
}

TEST(JsonNumber, IsNullWhenNotFinite) {
    EXPECT_EQ(number(std::numeric_limits<double>::infinity()), "null");
    EXPECT_EQ(number(std::numeric_limits<double>::quiet_NaN()), "null");
}

TEST(JsonString, EscapesWhatWouldBreakALine) {
    EXPECT_EQ(quoted("a\"b\\c\n\x01"), R"("a\"b\\c\n\u0001")");
    EXPECT_EQ(quoted("Zürich"), "\"Zürich\"");
    EXPECT_EQ(quoted("\xff\xc3"), R"("\u00ff\u00c3")");
    EXPECT_EQ(quoted("\u009b1m\u202e\x7f"), R"("\u009b1m\u202e\u007f")") << "what steers a terminal";
}

TEST(JsonLine, WritesOneFlatObject) {
    JsonLine line;
    line.begin();
    line.field("event", "step");
    line.field("step", 3);
    line.field("loss", 1.5);
    line.field("last", true);

    EXPECT_EQ(line.end(), "{\"event\":\"step\",\"step\":3,\"loss\":1.5,\"last\":true}\n");
}

TEST(JsonLine, FlagsWhatIsNotFinite) {
    JsonLine line;
    line.begin();
    line.field("loss", std::nan(""));

    EXPECT_EQ(line.end(), "{\"loss\":null,\"loss_nonfinite\":true}\n");
}

TEST(JsonLine, BeginsEachObjectAnew) {
    JsonLine line;
    line.begin();
    line.field("a", 1);
    line.end();
    line.begin();
    line.field("b", 2);

    EXPECT_EQ(line.end(), "{\"b\":2}\n");
}

}  // namespace
}  // namespace ziggurat
