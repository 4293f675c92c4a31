#include "storage/folder_trial.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "storage/io_error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::storage {
namespace {

TEST(FolderTrial, LeavesNothingBehind) {
    const test::ScratchFolder folder;

    const auto trial = try_folder(folder.path());

    EXPECT_EQ(trial.why_no_file, "");
    EXPECT_EQ(trial.damage, "");
    EXPECT_EQ(trial.why_no_lock, "");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FolderTrial, GivesTheReasonOfTheSystem) {
    const test::ScratchFolder folder;
    EXPECT_EQ(try_folder(folder.file("none")).why_no_file, "No such file or directory");

    set_write_fault([](const char*, std::int64_t, std::int64_t bytes) { return bytes > 0 ? ENOSPC : 0; });
    EXPECT_EQ(try_folder(folder.path()).why_no_file, "No space left on device");
    set_write_fault(nullptr);
}

TEST(FileSystem, OfMemoryIsNamed) {
    const auto memory = file_system_of("/dev/shm");
    if (memory.name == "tmpfs") {
        EXPECT_TRUE(memory.is_memory);
        EXPECT_FALSE(memory.is_network);
    }
    EXPECT_NE(memory.name, "");
    EXPECT_EQ(file_system_of("/nowhere at all").name, "");
}

TEST(Hdf5Versions, AreOfOneMinorVersionHere) {
    EXPECT_EQ(hdf5_headers().substr(0, 4), hdf5_running().substr(0, 4));
}

}  // namespace
}  // namespace ziggurat::storage
