#include "storage/directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

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

    EXPECT_EQ(read_small_file(folder.file("a"), 100), "second, and longer");
    EXPECT_EQ(read_small_file(folder.file("b"), 100), std::nullopt);
    EXPECT_THROW(rename_path(folder.file("b"), folder.file("c")), Error);
    EXPECT_THROW(flush_directory(folder.file("none")), Error);
}

std::string refusal(const std::string& path, std::int64_t max_bytes) {
    try {
        read_small_file(path, max_bytes);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::checkpoint) << error.what();
        return error.what();
    }
    return "";
}

TEST(Directory, OnlyRegularFilesOfTheirSizeAreReadAndNobodyIsWaitedFor) {
    const test::ScratchFolder folder;
    ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0666), 0);
    std::filesystem::create_symlink(folder.file("round"), folder.file("round"));
    write_small_file(folder.file("large"), "");
    std::filesystem::resize_file(folder.file("large"), std::uintmax_t{1} << 40);
    for (const char* name : {"pipe", "round", "large", "."}) {
        EXPECT_NE(refusal(folder.file(name), 1 << 20), "") << name;
    }
    EXPECT_NE(refusal("/dev/zero", 1 << 20), "");
    EXPECT_NE(refusal(folder.file("large/below"), 1 << 20), "");
    write_small_file(folder.file("pipe"), "a file again");
    EXPECT_EQ(read_small_file(folder.file("pipe"), 100), "a file again");
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

TEST(Directory, AFileSystemMayNotSayHowMuchItHolds) {
    EXPECT_FALSE(has_limited_space("/proc"));
    EXPECT_TRUE(has_limited_space("/dev/shm"));
}

TEST(Directory, FreeSpaceIsThatOfTheFileSystem) {
    const test::ScratchFolder folder;
    // Other processes may write in the meantime.
    EXPECT_NEAR(static_cast<double>(free_bytes(folder.path())),
                static_cast<double>(std::filesystem::space(folder.path()).available), 2e9);
    EXPECT_THROW(free_bytes(folder.file("none")), Error);
}

}  // namespace
}  // namespace ziggurat::storage
