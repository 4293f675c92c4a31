#include "base/text/looked_in.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace ziggurat {
namespace {

TEST(LookedIn, IsTheAbsoluteFolderOfAPath) {
    const std::string unchanged = std::filesystem::current_path().string();
    EXPECT_EQ(looked_in("a.txt"), "'" + unchanged + "'");
    EXPECT_EQ(looked_in("data/a.txt"), "'" + unchanged + "/data'");
    EXPECT_EQ(looked_in("./data/../runs/a"), "'" + unchanged + "/runs'");
    EXPECT_EQ(looked_in("runs/a/"), "'" + unchanged + "/runs'")
        << "of a folder, the one that it should be in";
    EXPECT_EQ(looked_in("/data/a.txt"), "'/data'");
    EXPECT_EQ(looked_in("/\x1b[31m/a.txt"), "'/\\x1b[31m'") << "nothing steers the terminal";
}

}  // namespace
}  // namespace ziggurat
