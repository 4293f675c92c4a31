#include "train/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

/// The two ends of a pretended terminal.
struct Terminal {
    Terminal() : screen{posix_openpt(O_RDWR | O_NOCTTY)} {
        grantpt(screen.get());
        unlockpt(screen.get());
        program = FileHandle{::open(ptsname(screen.get()), O_RDWR | O_NOCTTY)};
    }
    std::string shown() const {
        std::array<char, 4096> text{};
        const ssize_t length = ::read(screen.get(), text.data(), text.size());
        return {text.data(), static_cast<std::size_t>(length > 0 ? length : 0)};
    }

    FileHandle screen;
    FileHandle program;
};

TEST(Console, WritesLinesToTheFileAndTheLog) {
    const test::ScratchFolder folder;
    const FileHandle out = open_for_writing(folder.file("out"), OpenMode::append);
    Console console{out.get()};

    console.print("before the log");
    console.keep_log(folder.file("run.log"));
    console.print("two\nlines\n");
    console.warn("the disk is slow");

    const char* expected = "before the log\ntwo\nlines\nziggurat: warning: the disk is slow\n";
    EXPECT_EQ(test::contents_of(folder.file("out")), expected);
    EXPECT_EQ(test::contents_of(folder.file("run.log")), expected);
}

TEST(Console, ShowsNoLiveLineInAFile) {
    const test::ScratchFolder folder;
    const FileHandle out = open_for_writing(folder.file("out"), OpenMode::append);
    Console console{out.get()};

    console.live("step 1");
    console.print("end");

    EXPECT_FALSE(console.is_terminal());
    EXPECT_EQ(test::contents_of(folder.file("out")), "end\n");
}

TEST(Console, ReplacesTheLiveLineOfATerminal) {
    const test::ScratchFolder folder;
    const Terminal terminal;
    Console console{terminal.program.get()};
    console.keep_log(folder.file("run.log"));
    ASSERT_TRUE(console.is_terminal());

    console.live("step 1");
    EXPECT_EQ(terminal.shown(), "\r\x1b[Kstep 1");
    console.live("step 2");
    EXPECT_EQ(terminal.shown(), "\r\x1b[Kstep 2");
    console.print("step 2 | done");
    EXPECT_EQ(terminal.shown(), "\r\x1b[Kstep 2 | done\r\n");
    console.print("next");
    EXPECT_EQ(terminal.shown(), "next\r\n");
    EXPECT_EQ(test::contents_of(folder.file("run.log")), "step 2 | done\nnext\n");
}

TEST(Console, LeavesNoLiveLineBehind) {
    const Terminal terminal;
    {
        Console console{terminal.program.get()};
        console.live("step 1");
        terminal.shown();
    }
    EXPECT_EQ(terminal.shown(), "\r\x1b[K");
}

TEST(Console, ShowsNoLiveLineWhenToldThatNobodyWatches) {
    const Terminal terminal;
    Console console{terminal.program.get(), Display::text};
    console.live("step 1");
    console.print("end");
    EXPECT_EQ(terminal.shown(), "end\r\n");
}

TEST(DisplayBehindLauncher, IsWhatTheLauncherWritesTo) {
    const Terminal of_launcher;
    const Terminal of_rank;
    const test::ScratchFolder folder;
    const FileHandle log = open_for_writing(folder.file("log"), OpenMode::append);
    const auto seen_by_rank_of = [&](int output_of_launcher) {
        // The launcher is a process of its own that starts the rank, a second one.
        const pid_t launcher = ::fork();
        if (launcher == 0) {
            ::dup2(output_of_launcher, STDOUT_FILENO);
            const pid_t rank = ::fork();
            if (rank == 0) {
                ::dup2(of_rank.program.get(), STDOUT_FILENO);
                ::_exit(display_behind_launcher(STDOUT_FILENO) == Display::terminal ? 1 : 0);
            }
            int status = 0;
            ::waitpid(rank, &status, 0);
            ::_exit(WEXITSTATUS(status));
        }
        int status = 0;
        ::waitpid(launcher, &status, 0);
        return WEXITSTATUS(status) == 1 ? Display::terminal : Display::text;
    };

    EXPECT_EQ(seen_by_rank_of(log.get()), Display::text);
    EXPECT_EQ(seen_by_rank_of(of_launcher.program.get()), Display::terminal);
}

TEST(Console, SilentOnesSayNothing) {
    Console console{Console::quiet};
    console.print("text");
    console.live("text");
    console.warn("text");
}

TEST(Console, GoesOnWhenNobodyReads) {
    Console console{9999};
    console.print("text");
}

}  // namespace
}  // namespace ziggurat::train
