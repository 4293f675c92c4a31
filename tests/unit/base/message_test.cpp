#include "base/text/message.hpp"

#include <gtest/gtest.h>

namespace ziggurat {
namespace {

TEST(Message, BeginsWithTheProgramAndTheSeverity) {
    EXPECT_EQ(message(Severity::error, "the disk is full. Free some of it."),
              "ziggurat: error: the disk is full. Free some of it.");
    EXPECT_EQ(message(Severity::warning, "a\nb\n"), "ziggurat: warning: a\nb\n");
    EXPECT_EQ(message(Severity::note, ""), "ziggurat: note: ");
}

TEST(Message, NeverSteersTheTerminal) {
    EXPECT_EQ(message(Severity::error, "cannot read 'a\x1b[31m'"),
              "ziggurat: error: cannot read 'a\\x1b[31m'");
}

}  // namespace
}  // namespace ziggurat
