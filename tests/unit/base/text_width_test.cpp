#include "base/text/text_width.hpp"

#include <gtest/gtest.h>

namespace ziggurat {
namespace {

TEST(TextWidth, CountsColumnsNotBytes) {
    EXPECT_EQ(text_width(""), 0);
    EXPECT_EQ(text_width("loss"), 4);
    EXPECT_EQ(text_width("Wörter"), 6);
    EXPECT_EQ(text_width("日本"), 4);
    EXPECT_EQ(text_width("e\u0301"), 1);
    EXPECT_EQ(text_width("\xff!"), 2);
}

TEST(TextWidth, CutsBetweenCharacters) {
    EXPECT_EQ(clipped("日本語", 5), "日本");
    EXPECT_EQ(clipped("abc", 0), "");
    EXPECT_EQ(clipped("abc", 9), "abc");
}

TEST(TextWidth, ShortensAtEitherEnd) {
    EXPECT_EQ(shortened("0123456789", 10), "0123456789");
    EXPECT_EQ(shortened("0123456789", 8), "01234...");
    EXPECT_EQ(shortened("0123456789", 2), "..");
    EXPECT_EQ(shortened_from_left("/a/long/path", 8), ".../path");
    EXPECT_EQ(shortened_from_left("日本語日本語", 8), "...本語");
    for (int columns = 0; columns < 14; ++columns) {
        EXPECT_LE(text_width(shortened("日本語日本語", columns)), columns);
        EXPECT_LE(text_width(shortened_from_left("日本語日本語", columns)), columns);
    }
}

TEST(TextWidth, BreaksLinesAtBlanks) {
    EXPECT_EQ(wrapped("one two three", 0, "  "), "one two three");
    EXPECT_EQ(wrapped("one two three", 8, "  "), "one two\n  three");
    EXPECT_EQ(wrapped("a verylongword b", 6, ""), "a\nverylongword\nb");
}

}  // namespace
}  // namespace ziggurat
