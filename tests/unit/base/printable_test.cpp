#include "base/text/printable.hpp"

#include <gtest/gtest.h>

namespace ziggurat {
namespace {

TEST(Printable, KeepsTextOfAnyLanguage) {
    EXPECT_EQ(printable("In the beginning"), "In the beginning");
    EXPECT_EQ(printable("Zürich, 東京, 🏛"), "Zürich, 東京, 🏛");
}

TEST(Printable, EscapesWhatSteersATerminal) {
    EXPECT_EQ(printable("\x1b[2J\x07"), "\\x1b[2J\\x07");
    EXPECT_EQ(printable("a\rb\tc"), "a\\x0db\\x09c");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m"),
              "\\xc2\\x9b31m")
        << "the one-character form of ESC [";
    EXPECT_EQ(printable("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
    EXPECT_EQ(printable("\x7f"), "\\x7f");
}

TEST(Printable, KeepsNewlinesWhenAsked) {
    EXPECT_EQ(printable("a\nb", Newlines::kept), "a\nb");
    EXPECT_EQ(printable("a\nb"), "a\\x0ab");
}

TEST(Printable, EscapesBytesThatAreNoUtf8) {
    EXPECT_EQ(printable("\xff"), "\\xff");
    EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut off";
    EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "longer than needed";
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond Unicode";
    EXPECT_EQ(printable(std::string_view{"\0x", 2}), "\\x00x");
}

TEST(Utf8Length, CountsTheBytesOfOneCharacter) {
    EXPECT_EQ(utf8_length("a"), 1U);
    EXPECT_EQ(utf8_length("ü"), 2U);
    EXPECT_EQ(utf8_length("東"), 3U);
    EXPECT_EQ(utf8_length("🏛"), 4U);
    EXPECT_EQ(utf8_length(""), 0U);
}

}  // namespace
}  // namespace ziggurat
