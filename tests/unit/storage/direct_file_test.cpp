#include "storage/direct_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "storage/aio_queue.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::storage {
namespace {

TEST(DirectFile, ReservingTakesTheSpaceAtOnce) {
    const test::ScratchFolder folder;
    DirectFile file = DirectFile::create(folder.file("data"));
    file.reserve(1 << 20);
    struct stat status = {};
    ASSERT_EQ(stat(folder.file("data").c_str(), &status), 0);
    EXPECT_EQ(status.st_size, 1 << 20);
    EXPECT_GE(status.st_blocks * 512, 1 << 20);
    EXPECT_EQ(file.size_bytes(), 1 << 20);
    file.reserve(0);
}

TEST(DirectFile, MoreThanTheDiskHasIsRefusedBeforeAnythingIsWritten) {
    const test::ScratchFolder folder;
    DirectFile file = DirectFile::create(folder.file("data"));
    try {
        file.reserve(std::int64_t{1} << 42);
        FAIL() << "no disk of a test has so much";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::resource);
        EXPECT_NE(std::string{error.what()}.find("cannot reserve 4,398,046,511,104 bytes"), std::string::npos)
            << error.what();
    }
}

TEST(DirectFile, AnythingMayBeWrittenOnceItIsNotDirect) {
    const test::ScratchFolder folder;
    const AlignedBuffer memory{8192};
    std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{'a'});
    {
        DirectFile file = DirectFile::create(folder.file("data"));
        file.write(0, memory.bytes());
        file.stop_direct();
        EXPECT_FALSE(file.is_direct());
        file.write(8192, memory.bytes().first(5));
        file.write(1, std::as_bytes(std::span{"b", 1}));
        file.resize(8195);
        file.flush();
    }
    std::string expected(8195, 'a');
    expected[1] = 'b';
    EXPECT_EQ(test::contents_of(folder.file("data")), expected);
}

TEST(DirectFile, OddPlacesAreReadThroughTheCache) {
    const test::ScratchFolder folder;
    std::ofstream{folder.file("data")} << std::string(100, 'x') + std::string(100, 'y');
    DirectFile file = DirectFile::open(folder.file("data"));
    std::vector<std::byte> bytes(64);
    EXPECT_EQ(file.read(99, std::span{bytes}.first(2)), 2);
    EXPECT_EQ(bytes[0], std::byte{'x'});
    EXPECT_EQ(bytes[1], std::byte{'y'});
    EXPECT_EQ(file.read(190, bytes), 10);
    EXPECT_EQ(file.read(200, bytes), 0);
}

TEST(DirectFile, MessagesNameTheFileAndTheReason) {
    const test::ScratchFolder folder;
    const auto message = [](auto&& action) -> std::string {
        try {
            action();
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_NE(message([&] {
                  DirectFile::open(folder.file("none"));
              }).find("cannot open '" + folder.file("none") + "' (No such file or directory)."),
              std::string::npos);
    EXPECT_NE(message([&] { DirectFile::create(folder.file("none/data")); }).find("cannot create"),
              std::string::npos);
    EXPECT_NE(message([&] { DirectFile::create(folder.path()); }).find("Is a directory"), std::string::npos);
    DirectFile readable = DirectFile::create(folder.file("data"));
    DirectFile only = DirectFile::open(folder.file("data"));
    EXPECT_NE(message([&] {
                  only.write(0, std::as_bytes(std::span{"b", 1}));
              }).find("Bad file descriptor"),
              std::string::npos);
}

TEST(DirectFile, LosesItsNameAtOnceWhereItCannotBeWithout) {
    namespace fs = std::filesystem;
    const test::ScratchFolder folder;
    const fs::path stale = folder.file(".ziggurat-nvme-abcdef");
    const fs::path recent = folder.file(".ziggurat-nvme-ghijkl");
    for (const auto& path : {stale, recent}) {
        std::ofstream{path};
    }
    fs::last_write_time(stale, fs::file_time_type::clock::now() - std::chrono::minutes{5});

    auto file = DirectFile::create_unlinked(folder.path());
    const std::vector<std::byte> bytes(page_bytes, std::byte{7});
    file.stop_direct();
    file.write(0, bytes);

    EXPECT_EQ(file.size_bytes(), page_bytes);
    EXPECT_FALSE(fs::exists(stale)) << "left by a job that was killed";
    EXPECT_TRUE(fs::exists(recent)) << "may be somebody's who is about to remove it";
    EXPECT_EQ(std::distance(fs::directory_iterator{folder.path()}, fs::directory_iterator{}), 1);
}

TEST(DirectFile, SaysThatTooManyAreOpen) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = ::dup(0);
    ::close(next);
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(next);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);

    std::string text;
    try {
        DirectFile::create_unnamed(std::filesystem::temp_directory_path());
    } catch (const Error& error) {
        text = error.what();
    }
    ::setrlimit(RLIMIT_NOFILE, &before);

    EXPECT_NE(text.find("ulimit -n"), std::string::npos) << text;
}

}  // namespace
}  // namespace ziggurat::storage
