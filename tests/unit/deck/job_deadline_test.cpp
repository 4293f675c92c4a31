#include "deck/machine/job_deadline.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <map>

#include "base/error.hpp"

namespace ziggurat::deck {
namespace {

Environment environment(const std::map<std::string, std::string>& variables) {
    return [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional{found->second};
    };
}

constexpr double now = 1.79e9;

/// A Slurm that answers, and counts the queries.
struct Slurm {
    std::optional<std::string> answer;
    int asked = 0;
    std::string job = {};

    AskSlurm ask() {
        return [this](const std::string& of) {
            ++asked;
            job = of;
            return answer;
        };
    }
};

TEST(JobDeadline, IsNoneOutsideOfSlurm) {
    Slurm slurm{"2026-11-20T12:00:00\n"};
    EXPECT_FALSE(find_job_end(environment({}), now, slurm.ask()));
    EXPECT_EQ(slurm.asked, 0);
}

TEST(JobDeadline, IsWhatSlurmHasSaidAtTheStart) {
    Slurm slurm{"2026-11-20T12:00:00\n"};
    const auto end = find_job_end(
        environment({{"SLURM_JOB_ID", "812331"}, {"SLURM_JOB_END_TIME", "1795180000"}}), now, slurm.ask());
    ASSERT_TRUE(end);
    EXPECT_EQ(end->at, 1795180000);
    EXPECT_EQ(end->source, "Slurm job 812331");
    EXPECT_EQ(slurm.asked, 0);
}

TEST(JobDeadline, IsAskedForOnceWhereSlurmIsOlder) {
    Slurm slurm{"2026-11-20T12:30:15\n"};
    const auto end = find_job_end(environment({{"SLURM_JOB_ID", "7"}}), now, slurm.ask());
    ASSERT_TRUE(end);
    const auto at = static_cast<std::time_t>(end->at);
    std::tm parts{};
    localtime_r(&at, &parts);
    EXPECT_EQ(parts.tm_year, 126);
    EXPECT_EQ(parts.tm_mon, 10);
    EXPECT_EQ(parts.tm_mday, 20);
    EXPECT_EQ(parts.tm_hour, 12);
    EXPECT_EQ(parts.tm_min, 30);
    EXPECT_EQ(parts.tm_sec, 15);
    EXPECT_EQ(slurm.asked, 1);
    EXPECT_EQ(slurm.job, "7");
}

/// A tmux shell can outlive the job whose variables it has.
TEST(JobDeadline, IsNoneOfAJobThatIsOver) {
    Slurm slurm{"2026-11-20T12:00:00\n"};
    const std::map<std::string, std::string> reported{{"SLURM_JOB_ID", "7"},
                                                      {"SLURM_JOB_END_TIME", "1795180000"}};
    EXPECT_FALSE(find_job_end(environment(reported), 1795180000, slurm.ask()));
    EXPECT_TRUE(find_job_end(environment(reported), 1795179999, slurm.ask()));
    EXPECT_EQ(slurm.asked, 0);
    EXPECT_FALSE(find_job_end(environment({{"SLURM_JOB_ID", "7"}}), 1.9e9, slurm.ask()));
    EXPECT_EQ(slurm.asked, 1);
}

TEST(JobDeadline, IsNoneWhereNobodyKnows) {
    for (const char* answer : {"N/A\n", "", "UNLIMITED\n", "2026-11-20\n", "2026-11-20T12:30:15 or so\n"}) {
        Slurm slurm{answer};
        EXPECT_FALSE(find_job_end(environment({{"SLURM_JOB_ID", "7"}}), now, slurm.ask())) << answer;
    }
    Slurm none{std::nullopt};
    EXPECT_FALSE(
        find_job_end(environment({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "soon"}}), now, none.ask()));
    EXPECT_EQ(none.asked, 1) << "a variable that is no time is no answer";
}

TEST(StopAt, IsATime) {
    EXPECT_FALSE(find_stop_at(environment({})));
    EXPECT_FALSE(find_stop_at(environment({{"ZIGGURAT_STOP_AT", ""}})));
    EXPECT_EQ(find_stop_at(environment({{"ZIGGURAT_STOP_AT", "1795180000"}})), 1795180000);
    EXPECT_EQ(find_stop_at(environment({{"ZIGGURAT_STOP_AT", "1795180000.5"}})), 1795180000.5);
    for (const char* wrong : {"tomorrow", "3600", "1795180000000", "1795180000s", "nan", "-1795180000"}) {
        try {
            find_stop_at(environment({{"ZIGGURAT_STOP_AT", wrong}}));
            ADD_FAILURE() << wrong;
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 2);
            EXPECT_NE(std::string{error.what()}.find(wrong), std::string::npos) << error.what();
        }
    }
}

}  // namespace
}  // namespace ziggurat::deck
