#include "comm/watch/process_state.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace ziggurat::comm {
namespace {

/// A child process that waits to be killed.
class Sleeper {
  public:
    Sleeper() : pid_{fork()} {
        if (pid_ == 0) {
            for (;;) {
                pause();
            }
        }
    }
    ~Sleeper() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    pid_t pid() const { return pid_; }
    void stop() const {
        kill(pid_, SIGSTOP);
        int status = 0;
        waitpid(pid_, &status, WUNTRACED);
        ASSERT_TRUE(WIFSTOPPED(status));
    }

  private:
    pid_t pid_;
};

TEST(ProcessState, ReadsStatesTimesAndBeginningAroundAnAwkwardName) {
    const auto state = parse_process_state(
        "4711 (a) (name S 1) T 17 2 3 4 5 6 7 8 9 10 250 42 13 14 20 0 9 0 987654 1 2 3\n");

    ASSERT_TRUE(state.has_value());
    EXPECT_EQ('T', state->code);
    EXPECT_EQ(292, state->cpu_ticks);
    EXPECT_EQ(987654, state->started_at);
    EXPECT_TRUE(state->is_stopped());
}

TEST(ProcessState, RefusesWhatIsNoStateFile) {
    EXPECT_FALSE(parse_process_state("").has_value());
    EXPECT_FALSE(parse_process_state("4711 (name) S 1 2").has_value());
    EXPECT_FALSE(process_state(-1).has_value());
}

TEST(ProcessIo, CountsWhatGoesToAndComesFromFileSystems) {
    EXPECT_EQ(4096 + 512, parse_io_bytes("rchar: 77\nwchar: 88\nsyscr: 1\nsyscw: 2\nread_bytes: 4096\n"
                                         "write_bytes: 512\ncancelled_write_bytes: 64\n"));
    EXPECT_EQ(0, parse_io_bytes(""));
    EXPECT_EQ(0, process_io_bytes(-1));
}

TEST(ProcessState, SeesAProcessStopAndDie) {
    const Sleeper sleeper;
    const auto before = process_state(sleeper.pid());

    sleeper.stop();
    const auto stopped = process_state(sleeper.pid());
    kill(sleeper.pid(), SIGKILL);
    siginfo_t info;
    waitid(P_PID, static_cast<id_t>(sleeper.pid()), &info, WEXITED | WNOWAIT);  // keeps the zombie
    const auto dead = process_state(sleeper.pid());

    ASSERT_TRUE(before && stopped && dead);
    EXPECT_FALSE(before->is_stopped());
    EXPECT_TRUE(stopped->is_stopped());
    EXPECT_EQ("state T = stopped (SIGSTOP)", describe(*stopped));
    EXPECT_TRUE(dead->is_dead());
    EXPECT_EQ(before->started_at, dead->started_at);
}

TEST(WatchProcess, BecomesReadableWhenTheProcessEnds) {
    const Sleeper sleeper;
    const FileHandle watch = watch_process(sleeper.pid());
    if (!watch) {
        return;  // not supported: process_state() is used instead
    }
    pollfd asked{watch.get(), POLLIN, 0};
    EXPECT_EQ(0, poll(&asked, 1, 0));

    sleeper.stop();
    EXPECT_EQ(0, poll(&asked, 1, 0)) << "stopped is not dead";
    kill(sleeper.pid(), SIGKILL);

    EXPECT_EQ(1, poll(&asked, 1, 30'000));
}

TEST(FindLauncher, SkipsWrappersAndIsNobodyWithoutALauncher) {
    constexpr const char* variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (const char* variable : variables) {
        unsetenv(variable);
    }
    EXPECT_FALSE(find_launcher().has_value());

    setenv("PMI_RANK", "0", 1);
    const auto launcher = find_launcher();
    unsetenv("PMI_RANK");

    ASSERT_TRUE(launcher.has_value());
    EXPECT_EQ(getppid(), *launcher) << "this process's parent has no rank";
}

}  // namespace
}  // namespace ziggurat::comm
