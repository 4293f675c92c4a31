#include "base/file_handle.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat {
namespace {

std::string refusal(const std::string& path, OpenMode mode) {
    try {
        open_for_writing(path, mode);
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
        return error.what();
    }
    return "";
}

TEST(OpenForWriting, AppendsOrReplaces) {
    const test::ScratchFolder folder;
    const auto path = folder.file("file");
    write_all(open_for_writing(path, OpenMode::append).get(), "one ");
    write_all(open_for_writing(path, OpenMode::append).get(), "two");
    EXPECT_EQ(test::contents_of(path), "one two");
    write_all(open_for_writing(path, OpenMode::replace).get(), "three");
    EXPECT_EQ(test::contents_of(path), "three");
}

TEST(OpenForWriting, DoesNotFollowLinks) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("target")} << "of somebody";
    std::filesystem::create_symlink("target", folder.file("link"));
    std::filesystem::create_symlink("link", folder.file("chain"));
    std::filesystem::create_symlink("none", folder.file("dangling"));
    std::filesystem::create_symlink(folder.path(), folder.file("folder"));

    for (const char* name : {"link", "chain", "dangling", "folder"}) {
        for (const auto mode : {OpenMode::append, OpenMode::replace}) {
            const auto text = refusal(folder.file(name), mode);
            EXPECT_NE(text.find(folder.file(name) + "' (it is a symbolic link"), std::string::npos) << text;
        }
    }
    EXPECT_EQ(test::contents_of(folder.file("target")), "of somebody");
    EXPECT_FALSE(std::filesystem::exists(folder.file("none")));
    EXPECT_EQ(refusal(folder.file("folder/new"), OpenMode::append), "")
        << "the folder of a file may be a link";
}

TEST(OpenForWriting, RefusesPipesAndFolders) {
    const test::ScratchFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0666), 0);
    EXPECT_NE(refusal(folder.file("pipe"), OpenMode::append).find("not a regular file"), std::string::npos);
    EXPECT_NE(refusal(folder.path(), OpenMode::append), "");
    EXPECT_EQ(refusal("/dev/null", OpenMode::append), "");
}

}  // namespace
}  // namespace ziggurat
