#include "base/text/json_depth.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ziggurat {
namespace {

TEST(JsonDepth, CountsBracketsOutsideOfStrings) {
    EXPECT_FALSE(is_json_deeper("7", 0));
    EXPECT_TRUE(is_json_deeper("[]", 0));
    EXPECT_FALSE(is_json_deeper("[{\"a\": []}, [[]]]", 3));
    EXPECT_TRUE(is_json_deeper("[{\"a\": [[]]}]", 3));
    EXPECT_FALSE(is_json_deeper(R"(["[[[[", "\"[[[", "\\", []])", 2));
    EXPECT_TRUE(is_json_deeper(R"(["\\", [[]]])", 2));
    EXPECT_FALSE(is_json_deeper("[[]], [[]], [[]]", 2));
}

TEST(JsonDepth, TakesAnyText) {
    EXPECT_FALSE(is_json_deeper("", 0));
    EXPECT_FALSE(is_json_deeper("]]]]", 0));
    EXPECT_FALSE(is_json_deeper("\"\\", 0));
    EXPECT_TRUE(is_json_deeper(std::string(10'000'000, '{'), 1000));
}

}  // namespace
}  // namespace ziggurat
