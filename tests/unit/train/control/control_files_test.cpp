#include "train/control/control_files.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds often{2};

void put(const std::string& path) {
    std::ofstream{path} << "";
}

/// Waits until a file appears; the timeout is only reached if the test fails.
bool comes(const ControlFiles& files, ControlFile file) {
    for (int i = 0; i < 5000 && !files.is_present(file); ++i) {
        std::this_thread::sleep_for(often);
    }
    return files.is_present(file);
}

TEST(ControlFiles, AreFoundWhileTheRunGoesOn) {
    const test::ScratchFolder folder;
    ControlFiles files{folder.path(), often};
    EXPECT_TRUE(files.notes().empty());
    EXPECT_FALSE(files.is_present(ControlFile::stop));

    put(folder.file("STOP"));

    EXPECT_TRUE(comes(files, ControlFile::stop));
    EXPECT_FALSE(files.is_present(ControlFile::checkpoint));
    EXPECT_FALSE(files.is_present(ControlFile::validate));
    EXPECT_FALSE(files.is_present(ControlFile::report));
}

TEST(ControlFiles, EachAsksForItsOwn) {
    const test::ScratchFolder folder;
    const ControlFiles files{folder.path(), often};
    for (const auto file :
         {ControlFile::stop, ControlFile::checkpoint, ControlFile::validate, ControlFile::report}) {
        put(folder.file(name_of(file)));
        EXPECT_TRUE(comes(files, file)) << name_of(file);
    }
}

TEST(ControlFiles, AreDeletedWhenObeyedAndHeardAgainWhenMadeAgain) {
    const test::ScratchFolder folder;
    ControlFiles files{folder.path(), often};
    for (int time = 0; time < 3; ++time) {
        put(folder.file("REPORT"));
        ASSERT_TRUE(comes(files, ControlFile::report));
        EXPECT_EQ(files.acknowledged(ControlFile::report), "");
        EXPECT_FALSE(files.is_present(ControlFile::report));
        EXPECT_FALSE(fs::exists(folder.file("REPORT")));
    }
}

TEST(ControlFiles, OfAnEarlierRunAreDeletedAtTheStart) {
    const test::ScratchFolder folder;
    put(folder.file("STOP"));
    put(folder.file("VALIDATE"));

    const ControlFiles files{folder.path(), often};

    EXPECT_FALSE(fs::exists(folder.file("STOP")));
    EXPECT_FALSE(files.is_present(ControlFile::stop));
    ASSERT_EQ(files.notes().size(), 2U);
    EXPECT_EQ(files.notes()[0], "deleted '" + folder.file("STOP") + "', made before this run began");
}

TEST(ControlFiles, ThatCannotBeDeletedAskOnlyOnce) {
    const test::ScratchFolder folder;
    ControlFiles files{folder.path(), often};
    fs::create_directory(folder.file("CHECKPOINT"));  // unlink(2) rejects a folder
    ASSERT_TRUE(comes(files, ControlFile::checkpoint));

    EXPECT_NE(files.acknowledged(ControlFile::checkpoint), "");

    put(folder.file("STOP"));  // once this is detected, the folder was checked again too
    ASSERT_TRUE(comes(files, ControlFile::stop));
    ASSERT_EQ(files.acknowledged(ControlFile::stop), "");
    put(folder.file("STOP"));
    ASSERT_TRUE(comes(files, ControlFile::stop));
    EXPECT_FALSE(files.is_present(ControlFile::checkpoint));

    fs::remove(folder.file("CHECKPOINT"));
    ASSERT_EQ(files.acknowledged(ControlFile::stop), "");
    put(folder.file("STOP"));
    ASSERT_TRUE(comes(files, ControlFile::stop)) << "by now its going was seen";
    put(folder.file("CHECKPOINT"));
    EXPECT_TRUE(comes(files, ControlFile::checkpoint));
}

}  // namespace
}  // namespace ziggurat::train
