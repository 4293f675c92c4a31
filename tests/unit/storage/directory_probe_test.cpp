#include "storage/directory_probe.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "storage/io_error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::storage {
namespace {

TEST(DirectoryProbe, LeavesNothingBehind) {
    const test::ScratchFolder folder;

    const auto trial = probe_directory(folder.path());

    EXPECT_EQ(trial.no_file_reason, "");
    EXPECT_EQ(trial.damage, "");
    EXPECT_EQ(trial.no_lock_reason, "");
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(DirectoryProbe, GivesTheReasonOfTheSystem) {
    const test::ScratchFolder folder;
    EXPECT_EQ(probe_directory(folder.file("none")).no_file_reason, "No such file or directory");

    set_write_fault([](const char*, std::int64_t, std::int64_t bytes) { return bytes > 0 ? ENOSPC : 0; });
    EXPECT_EQ(probe_directory(folder.path()).no_file_reason, "No space left on device");
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
