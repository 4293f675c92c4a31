#include "comm/watch/error_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::comm {
namespace {

TEST(ErrorFile, HasALineForEachError) {
    const test::ScratchFolder folder;
    const std::string path = folder.file("errors/rank00000.log");
    append_error(path, "first");
    append_error(path, "second");
    const std::string text = test::contents_of(path);
    EXPECT_NE(text.find(" first\n"), std::string::npos) << text;
    EXPECT_TRUE(text.ends_with(" second\n")) << text;
}

TEST(ErrorFile, WaitsForNobodyWhoWouldReadIt) {
    const test::ScratchFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0666), 0);
    append_error(folder.file("pipe"), "nobody hears this");
    append_error(folder.file("pipe/below"), "nor this");
}

TEST(ErrorFile, DoesNotFollowLinks) {
    const test::ScratchFolder folder;
    namespace fs = std::filesystem;
    fs::create_directories(folder.file("errors"));
    fs::create_directories(folder.file("elsewhere"));
    std::ofstream{folder.file("target")} << "kept";
    fs::create_symlink("../target", folder.file("errors/rank00000.log"));
    fs::create_symlink("../none", folder.file("errors/rank00001.log"));
    fs::create_symlink("elsewhere", folder.file("linked"));

    append_error(folder.file("errors/rank00000.log"), "lost");
    append_error(folder.file("errors/rank00001.log"), "lost");
    append_error(folder.file("linked/rank00000.log"), "lost");
    append_error(folder.file("errors/rank00002.log"), "written");

    EXPECT_EQ(test::contents_of(folder.file("target")), "kept");
    EXPECT_FALSE(fs::exists(folder.file("none")));
    EXPECT_TRUE(fs::is_empty(folder.file("elsewhere")));
    EXPECT_TRUE(test::contents_of(folder.file("errors/rank00002.log")).ends_with(" written\n"));
}

}  // namespace
}  // namespace ziggurat::comm
