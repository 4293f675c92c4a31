#include "train/control/requests.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

constexpr Requests::RunCapabilities everything{.saves = true, .validates = true};

constexpr TrainingPosition in_step{.steps_done = 1360, .is_in_step = true, .step_seconds = 2};

/// Actions of one rank at each step, as in the trainer.
struct Rank {
    StopSignals signals;
    Requests requests;
    StepRequests step_requests;

    explicit Rank(const Requests::RunCapabilities& abilities = everything,
                  const std::string& folder = "",
                  std::optional<TimeLimit> limit = std::nullopt,
                  const Requests::FindEnd& find_end = find_launcher_end)
        : requests{signals, folder, std::move(limit), abilities, find_end} {}

    /// Runs the agreement with other ranks that have no requests.
    StepRequests step() {
        requests.put_into(step_requests);
        const StepRequests agreed = step_requests;
        requests.step_ended(agreed, 1, step_requests);
        return agreed;
    }
    std::string printed() {
        const auto message = requests.next_message(in_step);
        return message ? message->text : "";
    }
};

/// Steps until rank 0 has noticed a file; the timeout is only reached if the test fails.
StepRequests step_until(Rank& rank, StepRequest step_request) {
    StepRequests agreed;
    for (int i = 0; i < 1000 && agreed[step_request] == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
        agreed = rank.step();
    }
    return agreed;
}

TEST(Requests, SayEachLevelOfASignalOnce) {
    Rank rank;
    EXPECT_EQ(rank.printed(), "");
    raise(SIGUSR1);
    const auto message = rank.requests.next_message(in_step);
    ASSERT_TRUE(message);
    EXPECT_EQ(message->text,
              "received SIGUSR1: stops after step 1361 (in about 2.00 s), saves, then exits 75");
    EXPECT_EQ(message->signal, "SIGUSR1");
    EXPECT_EQ(message->level, 1);
    EXPECT_EQ(rank.printed(), "");
    EXPECT_EQ(rank.step().stop_level(), 1);
    EXPECT_EQ(rank.printed(), "");
    EXPECT_EQ(rank.requests.agreed(), 1);

    raise(SIGINT);
    EXPECT_EQ(rank.printed(), "received SIGINT again: aborts step 1361 now, saves, then exits 75");
    EXPECT_EQ(rank.step().stop_level(), 2);
    EXPECT_EQ(rank.printed(), "");
    EXPECT_EQ(rank.requests.reason(), "SIGINT");
}

TEST(Requests, HaveNoStepToGiveUpBetweenSteps) {
    Rank rank;
    raise(SIGUSR1);
    raise(SIGINT);
    const auto message =
        rank.requests.next_message({.steps_done = 1360, .is_in_step = false, .step_seconds = 2});
    ASSERT_TRUE(message);
    EXPECT_EQ(message->text, "received SIGINT: stops after step 1360, saves, then exits 75");
}

TEST(Requests, DoNotPromiseToSaveWhereCheckpointsAreOff) {
    Rank rank{{.saves = false, .validates = false}};
    raise(SIGTERM);
    EXPECT_EQ(rank.printed(),
              "received SIGTERM: stops after step 1361 (in about 2.00 s), saves nothing (checkpoint.every: "
              "none), "
              "exits 4");
}

/// Returns the message for a SIGTERM of mpirun, which kills after a second.
std::string mpirun_output(TrainingPosition moment, double save_seconds, pid_t pid = 77, bool saves = true) {
    pid_t sender = 0;
    Rank rank{{.saves = saves, .validates = false}, "", std::nullopt, [&](pid_t who) {
                  sender = who;
                  return LauncherGrace{"mpirun", pid, 1};
              }};
    kill(getpid(), SIGTERM);
    rank.requests.checkpoint_took(save_seconds);
    const auto message = rank.requests.next_message(moment);
    EXPECT_EQ(sender, getpid()) << "that of the signal is asked about";
    return message ? message->text : "";
}

TEST(Requests, PromiseNothingThatMpirunLeavesNoTimeFor) {
    TrainingPosition moment{.steps_done = 1360, .is_in_step = true, .step_seconds = 2, .saved_step = 1300};
    EXPECT_EQ(
        mpirun_output(moment, 0.25),
        "received SIGTERM from mpirun, which kills the ranks after 1.00 s. A step and a checkpoint take "
        "2.25 s; the steps since step 1300 (the last that is saved) may be lost. To save before the stop, "
        "use `kill -USR1 77` or create STOP in the run directory instead. mpirun exits 1.");
    moment.step_seconds = 0.1;
    EXPECT_NE(mpirun_output(moment, 0), mpirun_output(moment, 0.25)) << "what a save takes is not known";
    EXPECT_EQ(
        mpirun_output(moment, 0.25),
        "received SIGTERM: stops after step 1361 (in about 100 ms), saves, then exits 75 (mpirun exits 1)");
    EXPECT_NE(mpirun_output(moment, 0.45).find("kills the ranks"), std::string::npos) << "nearly";
    moment.is_in_step = false;
    EXPECT_EQ(mpirun_output(moment, 0.45).find("kills the ranks"), std::string::npos) << "a save alone";
    moment.saved_step = -1;
    EXPECT_NE(mpirun_output(moment, 9, 0).find("all steps (none is saved yet)"), std::string::npos);
    EXPECT_NE(mpirun_output(moment, 9, 0).find("`pkill -USR1 mpirun` on its node or"), std::string::npos)
        << "elsewhere";
}

TEST(Requests, PromiseTheSameAsEverToWhoeverElseSendsTerm) {
    Rank rank;  // the launcher of this test is another process
    kill(getpid(), SIGTERM);
    EXPECT_EQ(rank.printed(),
              "received SIGTERM: stops after step 1361 (in about 2.00 s), saves, then exits 75");
}

TEST(Requests, TellOfAnotherRanksSignal) {
    Rank rank;
    StepRequests agreed;
    agreed.ask_to_stop(StopSignals::after_step);
    rank.requests.step_ended(agreed, 1, rank.step_requests);

    EXPECT_EQ(rank.requests.agreed(), 1);
    EXPECT_EQ(rank.requests.reason(), "another rank");
    EXPECT_EQ(
        rank.printed(),
        "another rank was asked to stop: stops after step 1361 (in about 2.00 s), saves, then exits 75");
}

TEST(Requests, Usr2AsksForOneCheckpoint) {
    Rank rank;
    raise(SIGUSR2);
    StepRequests agreed = rank.step();
    EXPECT_EQ(agreed[StepRequest::checkpoint], 1);
    EXPECT_EQ(agreed.stop_level(), 0);
    EXPECT_EQ(rank.printed(), "received SIGUSR2: saves after this step, then continues");
    EXPECT_EQ(rank.step()[StepRequest::checkpoint], 0) << "granted";
}

TEST(Requests, KeepOneThatCameTooLateForTheStep) {
    Rank rank;
    rank.requests.put_into(rank.step_requests);
    const StepRequests taken = rank.step_requests;
    raise(SIGUSR2);
    rank.requests.put_into(rank.step_requests);
    rank.requests.step_ended(taken, 1, rank.step_requests);

    EXPECT_EQ(rank.step()[StepRequest::checkpoint], 1);
}

TEST(Requests, AreGrantedByACheckpointThatAnotherRankAskedFor) {
    Rank rank;
    raise(SIGUSR2);
    rank.requests.put_into(rank.step_requests);
    StepRequests agreed;
    agreed[StepRequest::checkpoint] = 1;
    rank.requests.step_ended(agreed, 1, rank.step_requests);

    EXPECT_EQ(rank.step()[StepRequest::checkpoint], 0) << "two would be one too many";
}

TEST(Requests, LeaveThoseOfOthersOfThisRankAlone) {
    Rank rank;
    rank.step_requests[StepRequest::checkpoint] = 1;  // a save is due
    rank.step();
    EXPECT_EQ(rank.step_requests[StepRequest::checkpoint], 1);
}

TEST(Requests, SayWhatCannotBeDone) {
    const test::ScratchFolder folder;
    Rank rank{{.saves = false, .validates = false}, folder.path()};
    raise(SIGUSR2);
    EXPECT_EQ(rank.step()[StepRequest::checkpoint], 0);
    EXPECT_EQ(rank.printed(),
              "received SIGUSR2, but checkpoints are off (checkpoint.every: none): continues without one");
    std::ofstream{folder.file("VALIDATE")} << "";
    for (int i = 0; i < 1000 && std::filesystem::exists(folder.file("VALIDATE")); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
        EXPECT_EQ(rank.step()[StepRequest::validate], 0);
    }
    EXPECT_NE(rank.printed().find("found VALIDATE, but there is nothing to validate on"), std::string::npos);
}

TEST(Requests, StopForAFileAndDeleteIt) {
    const test::ScratchFolder folder;
    Rank rank{everything, folder.path()};
    std::ofstream{folder.file("STOP")} << "";

    EXPECT_EQ(step_until(rank, StepRequest::stop_after_step).stop_level(), 1);

    EXPECT_EQ(rank.printed(), "found STOP: stops after step 1361 (in about 2.00 s), saves, then exits 75");
    EXPECT_EQ(rank.printed(), "");
    EXPECT_EQ(rank.requests.reason(), "STOP");
    EXPECT_FALSE(std::filesystem::exists(folder.file("STOP")));
}

TEST(Requests, ReportForAFileAndDeleteIt) {
    const test::ScratchFolder folder;
    Rank rank{everything, folder.path()};
    std::ofstream{folder.file("REPORT")} << "";

    EXPECT_EQ(step_until(rank, StepRequest::report)[StepRequest::report], 1);

    EXPECT_EQ(rank.printed(), "found REPORT: prints the report after this step, then continues");
    EXPECT_FALSE(std::filesystem::exists(folder.file("REPORT")));
    EXPECT_EQ(rank.requests.requested(), 0);
}

TEST(Requests, StopBeforeTheTimeLimit) {
    constexpr std::int64_t minute = 60'000'000'000;
    Rank rank{everything, "", TimeLimit{monotonic_ns() + minute, "run.time_limit", 0}};
    EXPECT_EQ(rank.step().stop_level(), 0) << "steps take a second";
    rank.requests.checkpoint_took(40);

    EXPECT_EQ(rank.step().stop_level(), 1);

    EXPECT_EQ(rank.requests.reason(), "time limit");
    const auto printed = rank.printed();
    EXPECT_EQ(printed.find("run.time_limit is "), 0U) << printed;
    EXPECT_NE(printed.find("away, a step and a checkpoint may take 41.0 s: stops after step 1361"),
              std::string::npos)
        << printed;
    EXPECT_EQ(rank.printed(), "");
}

TEST(Requests, UseAllOfTheTimeBeforeTheFirstStep) {
    constexpr std::int64_t minute = 60'000'000'000;
    {
        Rank rank{everything, "", TimeLimit{monotonic_ns() + minute, "run.time_limit", 40}};
        rank.requests.poll(false);
        EXPECT_EQ(rank.requests.requested(), 0) << "no checkpoint follows";
        rank.requests.poll(true);
        EXPECT_EQ(rank.requests.requested(), 1) << "the time does not suffice for a checkpoint";
    }
    Rank over{everything, "", TimeLimit{monotonic_ns(), "run.time_limit", 40}};
    over.requests.poll(false);
    EXPECT_EQ(over.requests.requested(), 1);
    EXPECT_EQ(over.requests.next_message({.steps_done = 4, .is_in_step = false, .is_starting = true})->text,
              "run.time_limit is reached: stops before step 5, exits 75");
}

TEST(Requests, PollFindsAFile) {
    const test::ScratchFolder folder;
    Rank rank{everything, folder.path()};
    std::ofstream{folder.file("STOP")};
    for (int i = 0; i < 1000 && rank.requests.requested() == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
        rank.requests.poll(false);
    }
    EXPECT_EQ(rank.requests.requested(), 1);
    EXPECT_EQ(rank.requests.next_message({.is_in_step = false, .is_starting = true})->text,
              "found STOP: stops before step 1, exits 75");
}

TEST(Requests, SayHowMuchTimeASignalLeaves) {
    constexpr std::int64_t minute = 60'000'000'000;
    Rank rank{everything, "", TimeLimit{monotonic_ns() + 5 * minute + minute / 2, "run.time_limit", 0}};
    raise(SIGUSR1);
    const auto printed = rank.printed();
    EXPECT_EQ(printed.find("received SIGUSR1 (5min"), 0U) << printed;
    EXPECT_NE(printed.find(" before run.time_limit): stops after"), std::string::npos) << printed;
}

}  // namespace
}  // namespace ziggurat::train
