#include "train/report/run_directory.hpp"

#include <gtest/gtest.h>

#include <cerrno>
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
        RunDirectory directory{path};
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
        return error.what();
    }
    return "";
}

/// Writes a folder of a run that was saved at step 20 and ended after step 23.
void put_earlier_run(const test::ScratchFolder& folder) {
    put(folder.file("metrics.jsonl"),
        "{\"event\":\"start\"}\n{\"event\":\"step\",\"step\":20}\n{\"event\":\"step\",\"step\":21}\n");
    put(folder.file("run.log"), "said before\n");
    put(folder.file("DONE"), "step 20\n");
    fs::create_directories(folder.file("ckpt/step-000000020"));
    fs::create_directories(folder.file("ckpt/step-000000010"));
    fs::create_directories(folder.file("ckpt/step-000000030.tmp"));
    fs::create_directories(folder.file("errors"));
    put(folder.file("ckpt/step-000000020/COMPLETE"), "a checkpoint");
}

TEST(RunDirectory, IsMadeWithItsParents) {
    const test::ScratchFolder folder;
    RunDirectory directory{folder.file("runs/tiny")};

    EXPECT_TRUE(fs::is_directory(folder.file("runs/tiny")));
    EXPECT_TRUE(directory.take_notes().empty());
    EXPECT_EQ(directory.file("run.log"), folder.file("runs/tiny/run.log"));
}

TEST(RunDirectory, WritesWholeFiles) {
    const test::ScratchFolder folder;
    RunDirectory directory{folder.path()};
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
    RunDirectory{folder.path()}.start_from_scratch(EarlierCheckpoints::refuse);
    put(folder.file("metrics.jsonl"), "second");
    RunDirectory directory{folder.path()};
    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")), "second") << "nothing is touched before";
    directory.start_from_scratch(EarlierCheckpoints::refuse);

    EXPECT_EQ(test::contents_of(folder.file("#metrics.jsonl.1#")), "first");
    EXPECT_EQ(test::contents_of(folder.file("#trace.rank0001.json.1#")), "first");
    EXPECT_EQ(test::contents_of(folder.file("#metrics.jsonl.2#")), "second");
    EXPECT_EQ(test::contents_of(folder.file("notes.txt")), "the user's own");
    EXPECT_FALSE(fs::exists(folder.file("metrics.jsonl")));
    const auto notes = directory.take_notes();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(directory.take_notes().empty());
    EXPECT_NE(notes[0].find("#<name>.2#"), std::string::npos) << notes[0];
}

TEST(RunDirectory, RefusesToBeginAfreshBesideCheckpoints) {
    const test::ScratchFolder folder;
    put_earlier_run(folder);
    try {
        RunDirectory{folder.path()}.start_from_scratch(EarlierCheckpoints::refuse);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2);
        EXPECT_NE(std::string{error.what()}.find("up to step-000000020)"), std::string::npos) << error.what();
        EXPECT_NE(std::string{error.what()}.find("--backup"), std::string::npos) << error.what();
    }
    EXPECT_TRUE(fs::exists(folder.file("metrics.jsonl")));
    EXPECT_TRUE(fs::exists(folder.file("ckpt/step-000000020/COMPLETE")));
}

TEST(RunDirectory, KeepsCheckpointsAsideWhenAskedTo) {
    const test::ScratchFolder folder;
    put_earlier_run(folder);
    RunDirectory directory{folder.path()};

    directory.start_from_scratch(EarlierCheckpoints::set_aside);

    EXPECT_FALSE(fs::exists(folder.file("ckpt")));
    EXPECT_FALSE(fs::exists(folder.file("DONE")));
    EXPECT_EQ(test::contents_of(folder.file("#ckpt.1#/step-000000020/COMPLETE")), "a checkpoint");
    EXPECT_EQ(test::contents_of(folder.file("#run.log.1#")), "said before\n");
    EXPECT_TRUE(fs::is_directory(folder.file("#errors.1#")));
    const auto notes = directory.take_notes();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(directory.take_notes().empty());
    EXPECT_NE(notes[0].find("its checkpoints up to step-000000020"), std::string::npos) << notes[0];
}

TEST(RunDirectory, LeavesHalfWrittenCheckpointsToThoseWhoWriteThem) {
    const test::ScratchFolder folder;
    fs::create_directories(folder.file("ckpt/step-000000030.tmp"));

    RunDirectory{folder.path()}.start_from_scratch(EarlierCheckpoints::refuse);

    EXPECT_TRUE(fs::exists(folder.file("ckpt/step-000000030.tmp")));
}

TEST(RunDirectory, GoesOnWhereACheckpointWasWritten) {
    const test::ScratchFolder folder;
    put_earlier_run(folder);
    RunDirectory directory{folder.path()};

    directory.go_on_from(20);

    EXPECT_EQ(test::contents_of(folder.file("metrics.jsonl")),
              "{\"event\":\"start\"}\n{\"event\":\"step\",\"step\":20}\n");
    EXPECT_EQ(test::contents_of(folder.file("metrics.cut-1.jsonl")), "{\"event\":\"step\",\"step\":21}\n");
    EXPECT_EQ(test::contents_of(folder.file("run.log")), "said before\n");
    EXPECT_FALSE(fs::exists(folder.file("DONE")));
    EXPECT_TRUE(fs::exists(folder.file("ckpt/step-000000020/COMPLETE")));
    const auto notes = directory.take_notes();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(directory.take_notes().empty());
    EXPECT_NE(notes[0].find("; 1 later line was moved to "), std::string::npos) << notes[0];
}

TEST(RunDirectory, SaysWhichStepsHaveLostTheirRows) {
    const test::ScratchFolder folder;
    put_earlier_run(folder);
    RunDirectory directory{folder.path()};

    directory.go_on_from(25);

    const auto notes = directory.take_notes();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_TRUE(directory.take_notes().empty());
    EXPECT_NE(notes[0].find("no rows for steps 22 to 25"), std::string::npos) << notes[0];
}

TEST(RunDirectory, AppendsToFiles) {
    const test::ScratchFolder folder;
    RunDirectory directory{folder.path()};
    directory.append("env.txt", "one ");
    directory.append("env.txt", "two");
    EXPECT_EQ(test::contents_of(folder.file("env.txt")), "one two");
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

TEST(RunDirectory, StaysTheSameFolderUnderAnotherName) {
    const test::ScratchFolder folder;
    RunDirectory directory{folder.file("run")};
    EXPECT_EQ(directory.next_message(), "");

    fs::rename(folder.file("run"), folder.file("other"));
    const std::string notes = directory.next_message();
    directory.write("perf.txt", "mine");
    directory.append("env.txt", "mine");

    EXPECT_NE(notes.find("was renamed to '" + fs::canonical(folder.file("other")).string()),
              std::string::npos)
        << notes;
    EXPECT_EQ(directory.next_message(), "") << "once";
    EXPECT_FALSE(fs::exists(folder.file("run")));
    EXPECT_EQ(test::contents_of(folder.file("other/perf.txt")), "mine");
    EXPECT_EQ(test::contents_of(folder.file("other/env.txt")), "mine");
    EXPECT_NE(message_of(folder.file("other")).find("another job is running in it"), std::string::npos);
    EXPECT_EQ(message_of(folder.file("run")), "") << "a new folder, and another run's";
}

TEST(RunDirectory, ThatWasRemovedIsMadeAnewForWhatIsSaved) {
    const test::ScratchFolder folder;
    RunDirectory directory{folder.file("run")};
    fs::remove_all(folder.file("run"));
    EXPECT_NE(directory.next_message().find("was removed during the run"), std::string::npos);
    EXPECT_THROW(directory.write("perf.txt", "lost"), Error);

    directory.reopen();

    EXPECT_EQ(directory.next_message(), "");
    directory.write("perf.txt", "kept");
    EXPECT_EQ(test::contents_of(folder.file("run/perf.txt")), "kept");
    EXPECT_NE(message_of(folder.file("run")).find("another job is running in it"), std::string::npos);
}

TEST(RunDirectory, TakesNoPlaceThatAnotherRunHasTaken) {
    const test::ScratchFolder folder;
    RunDirectory directory{folder.file("run")};
    fs::remove_all(folder.file("run"));
    {
        const RunDirectory other{folder.file("run")};
        EXPECT_THROW(directory.reopen(), Error) << "it is running";
        EXPECT_EQ(directory.held().path_status(), storage::PathStatus::removed)
            << "nothing of the other's is taken for ours";
    }
    fs::create_directories(folder.file("run/ckpt/step-000000008"));
    EXPECT_THROW(directory.reopen(), Error) << "it has checkpoints";
    fs::remove_all(folder.file("run/ckpt"));
    EXPECT_NO_THROW(directory.reopen());
}

TEST(RunDirectory, HasNoFileThatIsALink) {
    for (const char* name : {"run.log", "env.txt", "metrics.jsonl", "metrics.jsonl.tmp", "DONE", "errors",
                             "trace.rank0.json", "errors/rank00003.log"}) {
        const test::ScratchFolder folder;
        fs::create_directories(folder.file("run/errors"));
        put(folder.file("target"), "of somebody");
        fs::remove(folder.file("run") + "/" + name);
        fs::create_symlink(folder.file("target"), folder.file("run") + "/" + name);

        const auto message = message_of(folder.file("run"));
        EXPECT_NE(message.find(std::string{"/run/"} + name + "' is a symbolic link"), std::string::npos)
            << name << ": " << message;
        EXPECT_EQ(test::contents_of(folder.file("target")), "of somebody");
    }
    const test::ScratchFolder folder;
    fs::create_directories(folder.file("run"));
    fs::create_directories(folder.file("disk"));
    for (const char* name : {"ckpt", "tensorboard", "my_notes"}) {
        fs::create_symlink(folder.file("disk"), folder.file("run") + "/" + name);
    }
    EXPECT_EQ(message_of(folder.file("run")), "") << "folders that a run adds to, and files of the user";
}

TEST(RunDirectory, LocksTheFolderOfCheckpoints) {
    const test::ScratchFolder folder;
    fs::create_directories(folder.file("one/ckpt"));
    fs::create_directories(folder.file("two"));
    fs::create_directories(folder.file("three"));
    fs::create_directory_symlink(folder.file("one/ckpt"), folder.file("two/ckpt"));
    {
        const RunDirectory first{folder.file("one")};
        const auto message = message_of(folder.file("two"));
        EXPECT_NE(message.find("/two/ckpt' (another job writes checkpoints there)"), std::string::npos)
            << message;
    }
    EXPECT_EQ(message_of(folder.file("two")), "");

    RunDirectory late{folder.file("three")};
    EXPECT_EQ(late.lock_checkpoints(), "") << "there are none";
    fs::create_directories(folder.file("three/ckpt"));
    EXPECT_EQ(late.lock_checkpoints(), "");
    EXPECT_EQ(late.lock_checkpoints(), "");
    fs::remove(folder.file("two/ckpt"));
    fs::create_directory_symlink(folder.file("three/ckpt"), folder.file("two/ckpt"));
    EXPECT_NE(message_of(folder.file("two")), "");
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

TEST(RunDirectory, SaysWhereNoLockKeepsASecondJobOut) {
    EXPECT_EQ(lock_problem_of(0, "run"), "");
    EXPECT_EQ(lock_problem_of(EWOULDBLOCK, "run"), "");
    for (const int error : {ENOLCK, EOPNOTSUPP, EBADF}) {
        EXPECT_NE(lock_problem_of(error, "run").find("Other jobs are not kept out"), std::string::npos)
            << error;
    }
}

}  // namespace
}  // namespace ziggurat::train
