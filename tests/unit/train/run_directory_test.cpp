#include "train/run_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

namespace fs = std::filesystem;

void put(const std::string& path, const std::string& text) {
    std::ofstream{path} << text;
}

std::string message_of(const std::string& path) {
    try {
        const RunDirectory directory{path};
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
        return error.what();
    }
    return "";
}

TEST(RunDirectory, IsMadeWithItsParents) {
    const test::ScratchFolder folder;
    const RunDirectory directory{folder.file("runs/tiny")};

    EXPECT_TRUE(fs::is_directory(folder.file("runs/tiny")));
    EXPECT_TRUE(directory.notes().empty());
    EXPECT_EQ(directory.file("run.log"), folder.file("runs/tiny/run.log"));
}

TEST(RunDirectory, WritesWholeFiles) {
    const test::ScratchFolder folder;
    const RunDirectory directory{folder.path()};
    directory.write("env.txt", "one");
    directory.write("env.txt", "two");

    EXPECT_EQ(test::contents_of(folder.file("env.txt")), "two");
    EXPECT_FALSE(fs::exists(folder.file("env.txt.tmp")));
}

TEST(RunDirectory, KeepsFilesOfEarlierRunsUnderOneNumberPerRun) {
    const test::ScratchFolder folder;
    put(folder.file("metrics.jsonl"), "first");
    put(folder.file("trace.rank0001.json"), "first");
    put(folder.file("notes.txt"), "the user's own");
    { const RunDirectory directory{folder.path()}; }
    put(folder.file("metrics.jsonl"), "second");
    const RunDirectory directory{folder.path()};

    EXPECT_EQ(test::contents_of(folder.file("#metrics.jsonl.1#")), "first");
    EXPECT_EQ(test::contents_of(folder.file("#trace.rank0001.json.1#")), "first");
    EXPECT_EQ(test::contents_of(folder.file("#metrics.jsonl.2#")), "second");
    EXPECT_EQ(test::contents_of(folder.file("notes.txt")), "the user's own");
    EXPECT_FALSE(fs::exists(folder.file("metrics.jsonl")));
    ASSERT_EQ(directory.notes().size(), 1U);
    EXPECT_NE(directory.notes()[0].find("#<name>.2#"), std::string::npos) << directory.notes()[0];
}

TEST(RunDirectory, BelongsToOneJobAtATime) {
    const test::ScratchFolder folder;
    {
        const RunDirectory first{folder.path()};
        put(folder.file("metrics.jsonl"), "of a running job");
        EXPECT_NE(message_of(folder.path()).find("another job is running in it"), std::string::npos);
        EXPECT_TRUE(fs::exists(folder.file("metrics.jsonl"))) << "nothing of a running job is moved";
    }
    EXPECT_EQ(message_of(folder.path()), "");
}

TEST(RunDirectory, NamesAFileInTheWay) {
    const test::ScratchFolder folder;
    put(folder.file("taken"), "");
    const std::string message = message_of(folder.file("taken"));
    EXPECT_NE(message.find("cannot create the run directory '" + folder.file("taken") + "'"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("Set run.dir"), std::string::npos) << message;
    EXPECT_NE(message_of(folder.file("taken/deeper")), "");
    EXPECT_NE(message_of("/proc/ziggurat"), "");
}

}  // namespace
}  // namespace ziggurat::train
