#include "data/content_key.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

enum class Kind { one, other };

TEST(ContentKey, DependsOnRuleVersionNamesAndValues) {
    const auto key = [](const char* rule, int version, const char* name, std::string_view value) {
        return ContentKey{rule, version}.add(name, value).hash();
    };
    const auto before = key("rule", 1, "name", "value");
    EXPECT_EQ(key("rule", 1, "name", "value"), before);
    EXPECT_NE(key("other", 1, "name", "value"), before);
    EXPECT_NE(key("rule", 2, "name", "value"), before);
    EXPECT_NE(key("rule", 1, "nam", "value"), before);
    EXPECT_NE(key("rule", 1, "name", "valu"), before);
}

TEST(ContentKey, KeepsPartsApart) {
    const auto key = [](std::string_view first, std::string_view second) {
        return ContentKey{"rule", 1}.add("a", first).add("b", second).hash();
    };
    EXPECT_NE(key("xy", ""), key("x", "y"));
    EXPECT_NE(key("x\n1:b=1:y", ""), key("x", "y"));
}

TEST(ContentKey, TakesNumbersAndEnumerators) {
    const auto key = [](const auto& value) { return ContentKey{"rule", 1}.add("a", value).hash(); };
    EXPECT_NE(key(1), key(2));
    EXPECT_NE(key(true), key(false));
    EXPECT_NE(key(Kind::one), key(Kind::other));
    EXPECT_NE(key(0.1), key(0.1 + 1e-16 * 2));
    EXPECT_EQ(key(0.5), key(0.5));
}

TEST(WholeFileHash, IsThatOfAllBytes) {
    const test::ScratchFolder folder;
    const auto hash = [&](const std::string& content) {
        return whole_file_hash(folder.write("file", content));
    };
    EXPECT_EQ(hash("text"), hash("text"));
    EXPECT_NE(hash("text"), hash("test"));
    EXPECT_EQ(hash(""), 0U);
    EXPECT_EQ(whole_file_hash(folder / "missing"), 0U);
    EXPECT_EQ(whole_file_hash(folder / ""), 0U);
}

}  // namespace
}  // namespace ziggurat::data
