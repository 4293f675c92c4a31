#include "train/console/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

/// The two ends of a pseudo-terminal.
struct Terminal {
    Terminal() : screen{posix_openpt(O_RDWR | O_NOCTTY)} {
        grantpt(screen.get());
        unlockpt(screen.get());
        program = FileHandle{::open(ptsname(screen.get()), O_RDWR | O_NOCTTY)};
    }
    void resize(unsigned short columns) const {
        const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
        ::ioctl(screen.get(), TIOCSWINSZ, &size);
    }
    /// Returns the output since the last call. The system delivers it in parts, with delay: a mark written
    /// after all of it identifies the end.
    std::string shown() const {
        constexpr char mark = '\x05';
        EXPECT_EQ(write_all(program.get(), {&mark, 1}), 0);
        std::string text;
        while (!text.ends_with(mark)) {
            std::array<char, 4096> part{};
            const ssize_t length = ::read(screen.get(), part.data(), part.size());
            if (length <= 0) {
                ADD_FAILURE() << "the terminal ends after " << text;
                return text;
            }
            text.append(part.data(), static_cast<std::size_t>(length));
        }
        text.pop_back();
        return text;
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

TEST(Console, LetsNoNameSteerTheTerminal) {
    const test::ScratchFolder folder;
    const FileHandle out = open_for_writing(folder.file("out"), OpenMode::append);
    Console console{out.get()};
    console.keep_log(folder.file("run.log"));

    console.print("finished: runs/a\x1b[2J\r\u202e");
    console.warn("no\tdisk");

    const char* expected = "finished: runs/a\\x1b[2J\\x0d\\xe2\\x80\\xae\nziggurat: warning: no\\x09disk\n";
    EXPECT_EQ(test::contents_of(folder.file("out")), expected);
    EXPECT_EQ(test::contents_of(folder.file("run.log")), expected);
}

TEST(Console, TellsNoSecretToTheFileOrTheLog) {
    const test::ScratchFolder folder;
    const FileHandle out = open_for_writing(folder.file("out"), OpenMode::append);
    Console console{out.get()};

    console.hide({{"HF_TOKEN", "s3cr3t"}, {"PIN_TOKEN", "1"}});
    console.keep_log(folder.file("run.log"));
    console.print("run       /runs/s3cr3t-1");
    StyledText sample;
    sample.add("not in a file");
    console.print(sample, "prompt s3cr3t");

    const char* expected = "run       /runs/${env:HF_TOKEN}-1\nprompt ${env:HF_TOKEN}\n";
    EXPECT_EQ(test::contents_of(folder.file("out")), expected);
    EXPECT_EQ(test::contents_of(folder.file("run.log")), expected) << "what is in any word stays readable";
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
    Console console{terminal.program.get(), Screen{}};
    console.live("step 1");
    console.print("end");
    EXPECT_EQ(terminal.shown(), "end\r\n");
}

TEST(Console, LiveLinesLeaveTheLastColumnToTheCursor) {
    const Terminal terminal;
    Console console{terminal.program.get()};
    terminal.resize(8);
    console.live("0123456789");
    EXPECT_EQ(terminal.shown(), "\r\x1b[K0123456");
    terminal.resize(40);
    console.live("0123456789");
    EXPECT_EQ(terminal.shown(), "\r\x1b[K0123456789");
}

TEST(Console, HasNoLiveLineWhereLinesCannotBeRewritten) {
    const Terminal terminal;
    terminal.resize(40);
    {
        Console console{terminal.program.get(), Screen::of(terminal.program.get(), Escapes::none)};
        console.live("going on");
        console.print("done");
        console.live("");
        EXPECT_EQ(console.columns(), 40);
        EXPECT_FALSE(console.has_live_line());
    }
    EXPECT_EQ(terminal.shown(), "done\r\n");
}

StyledText some_line() {
    StyledText line;
    line.add("step 7");
    line.add(" | loss nan", Style::alarm);
    return line;
}

TEST(Console, ShowsAndLogsDifferentForms) {
    const test::ScratchFolder folder;
    const Terminal terminal;
    Console console{terminal.program.get(), Screen::of(terminal.program.get(), Escapes::colours)};
    console.keep_log(folder.file("run.log"));

    console.print(some_line(), "step 7 | loss nan | all of it");
    EXPECT_EQ(terminal.shown(), "step 7\x1b[31m | loss nan\x1b[0m\r\n");
    console.print(StyledText{}, "for the log");
    EXPECT_EQ(terminal.shown(), "");
    console.warn("the disk is slow");
    EXPECT_EQ(terminal.shown(), "\x1b[33mziggurat: warning:\x1b[0m the disk is slow\r\n");

    EXPECT_EQ(test::contents_of(folder.file("run.log")),
              "step 7 | loss nan | all of it\nfor the log\nziggurat: warning: the disk is slow\n");
}

TEST(Console, HasNoColoursUnlessToldSo) {
    const test::ScratchFolder folder;
    const Terminal terminal;
    Console console{terminal.program.get()};
    console.print(some_line(), "all of it");
    EXPECT_EQ(terminal.shown(), "step 7 | loss nan\r\n");
    const FileHandle out = open_for_writing(folder.file("out"), OpenMode::append);
    Console into_file{out.get(), Screen::of(out.get(), Escapes::colours)};
    into_file.print(some_line(), "all of it");
    EXPECT_EQ(test::contents_of(folder.file("out")), "all of it\n");
}

TEST(Screen, FollowsTheWidthOfTheTerminal) {
    const Terminal terminal;
    const auto screen = Screen::of(terminal.program.get());
    EXPECT_EQ(screen.columns(), 0);  // not set yet
    terminal.resize(100);
    EXPECT_EQ(screen.columns(), 100);
    terminal.resize(80);
    EXPECT_EQ(screen.columns(), 80);
    EXPECT_EQ(Screen{}.columns(), 0);
}

TEST(Screen, OfARankIsWhatTheLauncherWritesTo) {
    const Terminal of_launcher;
    const Terminal of_rank;
    of_launcher.resize(132);
    const test::ScratchFolder folder;
    const FileHandle log = open_for_writing(folder.file("log"), OpenMode::append);
    const auto columns_seen_by_rank_of = [&](int output_of_launcher) {
        // The launcher is a separate process that starts the rank, a second one.
        const pid_t launcher = ::fork();
        if (launcher == 0) {
            ::dup2(output_of_launcher, STDOUT_FILENO);
            const pid_t rank = ::fork();
            if (rank == 0) {
                ::dup2(of_rank.program.get(), STDOUT_FILENO);
                const auto screen = Screen::under_launcher(STDOUT_FILENO);
                ::_exit(screen.is_terminal() ? screen.columns() : 255);
            }
            int status = 0;
            ::waitpid(rank, &status, 0);
            ::_exit(WEXITSTATUS(status));
        }
        int status = 0;
        ::waitpid(launcher, &status, 0);
        return WEXITSTATUS(status);
    };

    EXPECT_EQ(columns_seen_by_rank_of(log.get()), 255);
    EXPECT_EQ(columns_seen_by_rank_of(of_launcher.program.get()), 132);
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
