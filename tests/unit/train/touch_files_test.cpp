#include "train/control/touch_files.hpp"

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
bool comes(const TouchFiles& files, TouchFile file) {
    for (int i = 0; i < 5000 && !files.is_there(file); ++i) {
        std::this_thread::sleep_for(often);
    }
    return files.is_there(file);
}

TEST(TouchFiles, AreFoundWhileTheRunGoesOn) {
    const test::ScratchFolder folder;
    TouchFiles files{folder.path(), often};
    EXPECT_TRUE(files.notes().empty());
    EXPECT_FALSE(files.is_there(TouchFile::stop));

    put(folder.file("STOP"));

    EXPECT_TRUE(comes(files, TouchFile::stop));
    EXPECT_FALSE(files.is_there(TouchFile::checkpoint));
    EXPECT_FALSE(files.is_there(TouchFile::validate));
    EXPECT_FALSE(files.is_there(TouchFile::report));
}

TEST(TouchFiles, EachAsksForItsOwn) {
    const test::ScratchFolder folder;
    const TouchFiles files{folder.path(), often};
    for (const auto file : {TouchFile::stop, TouchFile::checkpoint, TouchFile::validate, TouchFile::report}) {
        put(folder.file(name_of(file)));
        EXPECT_TRUE(comes(files, file)) << name_of(file);
    }
}

TEST(TouchFiles, AreDeletedWhenObeyedAndHeardAgainWhenMadeAgain) {
    const test::ScratchFolder folder;
    TouchFiles files{folder.path(), often};
    for (int time = 0; time < 3; ++time) {
        put(folder.file("REPORT"));
        ASSERT_TRUE(comes(files, TouchFile::report));
        EXPECT_EQ(files.obeyed(TouchFile::report), "");
        EXPECT_FALSE(files.is_there(TouchFile::report));
        EXPECT_FALSE(fs::exists(folder.file("REPORT")));
    }
}

TEST(TouchFiles, OfAnEarlierRunAreDeletedAtTheStart) {
    const test::ScratchFolder folder;
    put(folder.file("STOP"));
    put(folder.file("VALIDATE"));

    const TouchFiles files{folder.path(), often};

    EXPECT_FALSE(fs::exists(folder.file("STOP")));
    EXPECT_FALSE(files.is_there(TouchFile::stop));
    ASSERT_EQ(files.notes().size(), 2U);
    EXPECT_EQ(files.notes()[0], "deleted '" + folder.file("STOP") + "', made before this run began");
}

TEST(TouchFiles, ThatCannotBeDeletedAskOnlyOnce) {
    const test::ScratchFolder folder;
    TouchFiles files{folder.path(), often};
    fs::create_directory(folder.file("CHECKPOINT"));  // unlink(2) rejects a folder
    ASSERT_TRUE(comes(files, TouchFile::checkpoint));

    EXPECT_NE(files.obeyed(TouchFile::checkpoint), "");

    put(folder.file("STOP"));  // once this is detected, the folder was checked again too
    ASSERT_TRUE(comes(files, TouchFile::stop));
    ASSERT_EQ(files.obeyed(TouchFile::stop), "");
    put(folder.file("STOP"));
    ASSERT_TRUE(comes(files, TouchFile::stop));
    EXPECT_FALSE(files.is_there(TouchFile::checkpoint));

    fs::remove(folder.file("CHECKPOINT"));
    ASSERT_EQ(files.obeyed(TouchFile::stop), "");
    put(folder.file("STOP"));
    ASSERT_TRUE(comes(files, TouchFile::stop)) << "by now its going was seen";
    put(folder.file("CHECKPOINT"));
    EXPECT_TRUE(comes(files, TouchFile::checkpoint));
}

}  // namespace
}  // namespace ziggurat::train
