#include "storage/directory.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "storage/io_error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::storage {
namespace {

TEST(Directory, SmallFilesAreWrittenReadAndRenamed) {
    const test::ScratchFolder folder;
    write_small_file(folder.file("a"), "first");
    write_small_file(folder.file("b"), "second, and longer");
    rename_path(folder.file("b"), folder.file("a"));
    flush_directory(folder.path());

    EXPECT_EQ(read_small_file(folder.file("a")), "second, and longer");
    EXPECT_EQ(read_small_file(folder.file("b")), std::nullopt);
    EXPECT_THROW(read_small_file(folder.path()), Error) << "a directory is no file";
    EXPECT_THROW(rename_path(folder.file("b"), folder.file("c")), Error);
    EXPECT_THROW(flush_directory(folder.file("none")), Error);
}

TEST(Directory, AFileThatCannotBeWrittenWholeIsNotThere) {
    const test::ScratchFolder folder;
    set_write_fault([](const char*, std::int64_t, std::int64_t bytes) { return bytes > 0 ? EDQUOT : 0; });
    EXPECT_THROW(write_small_file(folder.file("a"), "text"), Error);
    set_write_fault(nullptr);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Directory, TwoFoldersExchangeTheirNames) {
    const test::ScratchFolder folder;
    std::filesystem::create_directories(folder.file("a/of_a"));
    std::filesystem::create_directories(folder.file("b/of_b"));
    if (exchange_paths(folder.file("a"), folder.file("b"))) {
        EXPECT_TRUE(std::filesystem::exists(folder.file("a/of_b")));
        EXPECT_TRUE(std::filesystem::exists(folder.file("b/of_a")));
    } else {
        EXPECT_TRUE(std::filesystem::exists(folder.file("a/of_a")));
    }
    EXPECT_THROW(exchange_paths(folder.file("a"), folder.file("none")), Error);
}

TEST(Directory, FreeSpaceIsThatOfTheFileSystem) {
    const test::ScratchFolder folder;
    EXPECT_EQ(free_bytes(folder.path()) >> 34,
              static_cast<std::int64_t>(std::filesystem::space(folder.path()).available >> 34));
    EXPECT_THROW(free_bytes(folder.file("none")), Error);
}

}  // namespace
}  // namespace ziggurat::storage
