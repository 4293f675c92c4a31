/// Ranks without MPI: forked children that watch each other, one of which is killed, stopped or fails.
#include "comm/watch/liveness.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "comm/wait_context.hpp"

namespace ziggurat::comm {
namespace {

constexpr int timeout_ms = 300'000;  // against hangs of the test itself

/// Work of one rank once all are present and watch.
using Part = std::function<void(Liveness&)>;

class Ranks {
  public:
    /// Starts one child per part. Returns when all of them watch each other.
    explicit Ranks(std::vector<Part> parts)
        : board_{NodeStatusBoard::create(static_cast<int>(parts.size()))} {
        for (const auto& part : parts) {
            children_.push_back(start(part));
        }
        std::vector<pid_t> pids;
        for (const auto& child : children_) {
            pids.push_back(child.pid);
        }
        for (const auto& child : children_) {
            tell(child, pids.data(), pids.size() * sizeof(pid_t));
        }
        for (const auto& child : children_) {
            EXPECT_EQ("watching\n", next_line(child));
        }
        for (const auto& child : children_) {
            tell(child, "!", 1);
        }
    }
    ~Ranks() {
        for (const auto& child : children_) {
            kill(child.pid, SIGKILL);
            waitpid(child.pid, nullptr, 0);
            close(child.to);
            close(child.from);
        }
    }
    Ranks(const Ranks&) = delete;
    Ranks& operator=(const Ranks&) = delete;

    pid_t pid(int rank) const { return children_[static_cast<std::size_t>(rank)].pid; }
    std::string name(int rank) const { return name_of_rank(rank, pid(rank)); }
    /// Waits until the rank has printed a line.
    std::string receive(int rank) const { return next_line(children_[static_cast<std::size_t>(rank)]); }
    /// Waits until the rank has ended. Returns its exit code, or 128 + the signal that killed it.
    int exit_code(int rank) {
        auto& child = children_[static_cast<std::size_t>(rank)];
        child.printed += rest(child);
        if (!has_more(child)) {
            kill(child.pid, SIGKILL);  // it hangs, which the exit code shows
        }
        siginfo_t info{};
        waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT);
        return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
    }
    /// Returns its output; call exit_code() first.
    const std::string& printed(int rank) const { return children_[static_cast<std::size_t>(rank)].printed; }

  private:
    struct Child {
        pid_t pid = 0;
        int to = -1;
        int from = -1;
        std::string printed = {};
    };

    Child start(const Part& part) {
        std::array<int, 2> down{}, up{};
        EXPECT_EQ(0, pipe(down.data()));
        EXPECT_EQ(0, pipe(up.data()));
        const int line = static_cast<int>(children_.size());
        const pid_t pid = fork();
        if (pid == 0) {
            dup2(up[1], STDERR_FILENO);
            // Otherwise a pipe stays open, and its reader waits until all children have ended.
            close(up[0]);
            close(up[1]);
            be_rank(line, down[0], part);
        }
        close(down[0]);
        close(up[1]);
        return {pid, down[1], up[0]};
    }

    [[noreturn]] void be_rank(int me, int from, const Part& part) const {
        std::vector<pid_t> pids(static_cast<std::size_t>(board_.num_lines()));
        read_all(from, pids.data(), pids.size() * sizeof(pid_t));
        MonitoredRanks list{
            .peers = {},
            .me = static_cast<std::size_t>(me),
            .world_size = board_.num_lines(),
            .host = "machine",
            .board = *NodeStatusBoard::open(getppid(), board_.descriptor(), board_.num_lines()),
            .is_shared = true,
            .launcher = std::nullopt};
        for (std::size_t rank = 0; rank < pids.size(); ++rank) {
            const auto state = process_state(pids[rank]);
            list.peers.push_back({static_cast<int>(rank), pids[rank], state ? state->started_at : 0});
        }
        {
            Liveness liveness{std::move(list)};
            [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, "watching\n", 9);
            char go = 0;
            read_all(from, &go, 1);
            part(liveness);
        }
        _exit(0);
    }

    static void read_all(int file, void* into, std::size_t bytes) {
        for (std::size_t done = 0; done < bytes;) {
            const ssize_t got = read(file, static_cast<char*>(into) + done, bytes - done);
            if (got <= 0) {
                _exit(99);
            }
            done += static_cast<std::size_t>(got);
        }
    }
    static void tell(const Child& child, const void* what, std::size_t bytes) {
        ASSERT_EQ(static_cast<ssize_t>(bytes), write(child.to, what, bytes));
    }
    static bool has_more(const Child& child) {
        pollfd asked{child.from, POLLIN, 0};
        return poll(&asked, 1, timeout_ms) > 0;
    }
    static std::string next_line(const Child& child) {
        std::string line;
        for (char c = 0; c != '\n' && has_more(child) && read(child.from, &c, 1) == 1;) {
            line += c;
        }
        return line;
    }
    static std::string rest(const Child& child) {
        std::string text;
        for (std::string line = next_line(child); !line.empty(); line = next_line(child)) {
            text += line;
        }
        return text;
    }

    NodeStatusBoard board_;
    std::vector<Child> children_;
};

/// Notifies the test that a rank is in the activity under test.
void print_busy() {
    [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, "busy\n", 5);
}

void wait_for_ever(Liveness& liveness) {
    liveness.waits_for("all_reduce of 'norm'");
    print_busy();
    for (;;) {
        pause();
    }
}

void compute_for_ever(Liveness& liveness) {
    liveness.begin_activity("layer 3 backward", monotonic_ns());
    print_busy();
    for (;;) {
        liveness.end_wait();
    }
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(Liveness, NamesAKilledRankEverywhereWhateverTheOthersDo) {
    Ranks ranks{{wait_for_ever, compute_for_ever, wait_for_ever}};
    EXPECT_EQ("busy\n", ranks.receive(0));
    EXPECT_EQ("busy\n", ranks.receive(1));

    kill(ranks.pid(2), SIGKILL);

    EXPECT_EQ(6, ranks.exit_code(0));
    EXPECT_EQ(6, ranks.exit_code(1));
    EXPECT_EQ(128 + SIGKILL, ranks.exit_code(2));
    EXPECT_TRUE(has(ranks.printed(0), ranks.name(2) + " on machine has died")) << ranks.printed(0);
    EXPECT_TRUE(has(ranks.printed(0), "for 'all_reduce of 'norm''")) << ranks.printed(0);
    EXPECT_TRUE(has(ranks.printed(1), ranks.name(2) + " on machine has died")) << ranks.printed(1);
    EXPECT_TRUE(has(ranks.printed(1), "into 'layer 3 backward'")) << ranks.printed(1);
}

/// Waits until the process of a peer has a state, before the hang timeout starts: the blamed rank is
/// then certain.
///
/// tests/unit/comm/hang_watch_test.cpp sets the clock instead.
void wait_until(const Liveness& liveness,
                std::size_t peer,
                const std::function<bool(const ProcessState&)>& is_so) {
    const pid_t pid = liveness.watch_list().peers[peer].pid;
    for (auto state = process_state(pid); state && !is_so(*state); state = process_state(pid)) {
        usleep(1000);
    }
}

TEST(Liveness, NamesAStoppedRankWhenPatienceEnds) {
    const Part patient = [](Liveness& liveness) {
        wait_until(liveness, 2, [](const ProcessState& state) { return state.is_stopped(); });
        liveness.set_hang_timeout(1);
        wait_for_ever(liveness);
    };
    Ranks ranks{{patient, patient, compute_for_ever}};
    EXPECT_EQ("busy\n", ranks.receive(2));

    kill(ranks.pid(2), SIGSTOP);

    EXPECT_EQ(6, ranks.exit_code(0));
    EXPECT_EQ(6, ranks.exit_code(1));
    EXPECT_TRUE(has(ranks.printed(0), ranks.name(2) + ": state T = stopped (SIGSTOP)")) << ranks.printed(0);
    EXPECT_TRUE(has(ranks.printed(1), ranks.name(2) + ": state T = stopped (SIGSTOP)")) << ranks.printed(1);
    // The others aborted it. When it runs again, it detects that and exits as well.
    kill(ranks.pid(2), SIGCONT);
    EXPECT_EQ(6, ranks.exit_code(2));
    EXPECT_TRUE(has(ranks.printed(2), "aborted by the other ranks")) << ranks.printed(2);
}

volatile sig_atomic_t may_end = 0;

TEST(Liveness, OnlyReportsARankWhoseDeviceComputes) {
    const Part computes_concurrently = [](Liveness& liveness) {
        liveness.device_busy("layer 3");
        while (may_end == 0) {
            usleep(10'000);
        }
    };
    const Part patient = [](Liveness& liveness) {
        liveness.set_hang_timeout(1);
        liveness.waits_for("x");
        while (may_end == 0) {
            usleep(10'000);
        }
    };
    signal(SIGUSR1, [](int) { may_end = 1; });
    Ranks ranks{{patient, computes_concurrently}};

    const std::string warning = ranks.receive(0);
    for (int rank = 0; rank < 2; ++rank) {
        kill(ranks.pid(rank), SIGUSR1);
    }
    signal(SIGUSR1, SIG_DFL);

    EXPECT_TRUE(has(warning, "ziggurat: warning: rank 0 of 2 (machine), which waited")) << warning;
    EXPECT_TRUE(has(warning, "into 'layer 3', and computes or accesses files. Still waiting.")) << warning;
    for (int rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(0, ranks.exit_code(rank)) << rank;
    }
}

TEST(Liveness, TellsADeviceFromAWaitThatFollowsIt) {
    Ranks ranks{{[](Liveness& liveness) {
        liveness.set_hang_timeout(1);
        liveness.device_busy("layer 3");
        wait_for_ever(liveness);
    }}};

    EXPECT_EQ(6, ranks.exit_code(0));
    EXPECT_TRUE(has(ranks.printed(0), "for 'all_reduce of 'norm''")) << ranks.printed(0);
}

TEST(Liveness, LeavesWithTheCodeOfARankThatFails) {
    const Part fails = [](Liveness& liveness) { liveness.fail(5, "the loss is not finite"); };
    Ranks ranks{{wait_for_ever, fails, compute_for_ever}};

    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(5, ranks.exit_code(rank)) << rank;
    }
    EXPECT_TRUE(has(ranks.printed(1), "ziggurat: error: rank 1 of 3 (machine): the loss is not finite"));
    for (const int rank : {0, 2}) {
        EXPECT_TRUE(
            has(ranks.printed(rank), ranks.name(1) + " on machine has failed with exit code 5: the loss"))
            << ranks.printed(rank);
    }
}

TEST(Liveness, TellsWhoeverAskedBeforeItLeaves) {
    const Part last_message = [](Liveness& liveness) {
        liveness.set_last_message([](const ProcessAbort::LastMessage& words) {
            const std::string text = "told " + std::to_string(words.exit_code) + ": " + words.line + "\n";
            [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
        });
        wait_for_ever(liveness);
    };
    const Part reported_no_more = [](Liveness& liveness) {
        liveness.set_last_message([](const ProcessAbort::LastMessage&) { _exit(99); });
        liveness.set_last_message({});
        wait_for_ever(liveness);
    };
    Ranks ranks{{last_message, reported_no_more, wait_for_ever}};
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ("busy\n", ranks.receive(rank));
    }

    kill(ranks.pid(2), SIGKILL);

    EXPECT_EQ(6, ranks.exit_code(0));
    EXPECT_EQ(6, ranks.exit_code(1));
    const auto at = ranks.printed(0).find("told 6: ");
    ASSERT_NE(at, std::string::npos) << ranks.printed(0);
    EXPECT_TRUE(has(ranks.printed(0).substr(at), ranks.name(2) + " on machine has died")) << ranks.printed(0);
}

TEST(Liveness, EndsTheWaitsOfARankThatLeaves) {
    const Part gives_up = [](Liveness& liveness) {
        std::atomic<bool> has_given_up{false};
        liveness.set_last_message([&](const ProcessAbort::LastMessage&) {
            while (!has_given_up) {
                usleep(1000);
            }
        });
        print_busy();
        try {
            for (const WaitContext waits{liveness};;) {
                waits.check("a token");
            }
        } catch (const Error& error) {
            const std::string text = std::string{error.what()} + "\n";
            [[maybe_unused]] ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
            has_given_up = true;
        }
        pause();
    };
    Ranks ranks{{gives_up, wait_for_ever}};
    EXPECT_EQ("busy\n", ranks.receive(0));

    kill(ranks.pid(1), SIGKILL);

    EXPECT_EQ(6, ranks.exit_code(0));
    EXPECT_TRUE(has(ranks.printed(0), "stopped waiting for a token")) << ranks.printed(0);
}

TEST(Liveness, LeavesThoughItsLastWordsTakeForEver) {
    const Part hangs = [](Liveness& liveness) {
        liveness.set_last_message(
            [](const ProcessAbort::LastMessage&) { pause(); });  // as on a disk that fails
        liveness.fail(3, "the disk is gone");
    };
    Ranks ranks{{hangs}};

    EXPECT_EQ(3, ranks.exit_code(0));
    EXPECT_TRUE(has(ranks.printed(0), "the disk is gone")) << ranks.printed(0);
}

TEST(Liveness, SaysTheSameErrorOnce) {
    const Part fails = [](Liveness& liveness) { liveness.fail(5, "the loss is not finite"); };
    Ranks ranks{{fails, fails, fails}};

    int full = 0;
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(5, ranks.exit_code(rank)) << rank;
        full += has(ranks.printed(rank), "ziggurat: error: rank") ? 1 : 0;
    }
    EXPECT_EQ(1, full) << ranks.printed(0) << ranks.printed(1) << ranks.printed(2);
}

TEST(Liveness, TakesALossForTheReasonOfWhateverFailsFromIt) {
    const auto is_dead = [](const ProcessState& state) { return state.is_dead(); };
    const Part cannot_talk = [&](Liveness& liveness) {
        wait_until(liveness, 2, is_dead);
        liveness.fail(6, "MPI call failed (connection reset)");
    };
    const Part cannot_open = [&](Liveness& liveness) {
        wait_until(liveness, 2, is_dead);
        liveness.fail(3, "cannot open /proc/1/fd/7");
    };
    const Part dies = [](Liveness&) { raise(SIGKILL); };
    Ranks ranks{{cannot_talk, cannot_open, dies}};

    for (const int rank : {0, 1}) {
        EXPECT_EQ(6, ranks.exit_code(rank));
        EXPECT_TRUE(has(ranks.printed(rank), ranks.name(2) + " on machine has died")) << ranks.printed(rank);
        EXPECT_FALSE(has(ranks.printed(rank), "cannot open")) << ranks.printed(rank);
        EXPECT_FALSE(has(ranks.printed(rank), "connection reset")) << ranks.printed(rank);
    }
}

TEST(Liveness, LetsRanksFinishOneAfterTheOther) {
    const Part finishes = [](Liveness& liveness) { liveness.announce_exit(); };
    const Part later = [](Liveness& liveness) {
        usleep(200'000);
        liveness.poll_once();
    };
    Ranks ranks{{finishes, later, finishes}};

    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(0, ranks.exit_code(rank)) << ranks.printed(rank);
        EXPECT_EQ("", ranks.printed(rank));
    }
}

}  // namespace
}  // namespace ziggurat::comm
