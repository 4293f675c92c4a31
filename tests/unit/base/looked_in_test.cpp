#include "base/looked_in.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace ziggurat {
namespace {

TEST(LookedIn, IsTheAbsoluteFolderOfAPath) {
    const std::string here = std::filesystem::current_path().string();
    EXPECT_EQ(looked_in("a.txt"), "'" + here + "'");
    EXPECT_EQ(looked_in("data/a.txt"), "'" + here + "/data'");
    EXPECT_EQ(looked_in("./data/../runs/a"), "'" + here + "/runs'");
    EXPECT_EQ(looked_in("runs/a/"), "'" + here + "/runs'") << "of a folder, the one that it should be in";
    EXPECT_EQ(looked_in("/data/a.txt"), "'/data'");
    EXPECT_EQ(looked_in("/\x1b[31m/a.txt"), "'/\\x1b[31m'") << "nothing steers the terminal";
}

}  // namespace
}  // namespace ziggurat
