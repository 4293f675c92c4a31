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

}  // namespace
}  // namespace ziggurat::comm
