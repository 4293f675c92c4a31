#include "doctor/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ziggurat::doctor {
namespace {

using testing::HasSubstr;

constexpr std::int64_t gibi = std::int64_t{1} << 30;

TEST(OpenFiles, AreEnoughForTheRanksOfTheJob) {
    EXPECT_EQ(diagnose_open_files({1024, 4096}, 2).health, Health::ok);
    EXPECT_EQ(diagnose_open_files({}, 100000).health, Health::ok);
    EXPECT_EQ(diagnose_open_files({1024, 4096}, 8).health, Health::ok);
    EXPECT_EQ(diagnose_open_files({136, 136}, 2).health, Health::ok);
    EXPECT_EQ(diagnose_open_files({135, 135}, 2).health, Health::warning);
    EXPECT_EQ(diagnose_open_files({1024, 4096}, 1000).health, Health::warning);
}

TEST(OpenFiles, AreRaisedByWhomeverMay) {
    const auto by_user = diagnose_open_files({64, 4096}, 2);
    EXPECT_THAT(by_user.found, HasSubstr("64 may be open at once, and a rank among 2 may need 136"));
    EXPECT_EQ(by_user.remedy, "Run 'ulimit -n 1024' before the launch.");
    EXPECT_EQ(diagnose_open_files({64, no_limit}, 1000).remedy, "Run 'ulimit -n 1152' before the launch.");
    EXPECT_THAT(diagnose_open_files({64, 100}, 2).remedy,
                HasSubstr("/etc/security/limits.conf; your maximum is 100"));
}

TEST(LockedMemory, MattersToNetworkCardsAlone) {
    EXPECT_EQ(diagnose_locked_memory({65536, 65536}, "").health, Health::ok);
    EXPECT_EQ(diagnose_locked_memory({}, "mlx5_0").health, Health::ok);

    const auto small = diagnose_locked_memory({65536, no_limit}, "mlx5_0");
    EXPECT_EQ(small.health, Health::warning);
    EXPECT_THAT(small.found, HasSubstr("64.00 KiB may be locked, and the network card mlx5_0"));
    EXPECT_THAT(small.remedy, HasSubstr("ulimit -l unlimited"));
    EXPECT_THAT(diagnose_locked_memory({65536, 65536}, "mlx5_0").remedy, HasSubstr("limits.conf"));
}

TEST(Memory, IsComparedWithThePartOfTheCores) {
    const MemoryFacts whole{
        .installed_bytes = 64 * gibi, .available_bytes = 60 * gibi, .cores = 8, .machine_cores = 8};
    EXPECT_EQ(diagnose_memory(whole).health, Health::ok);

    auto quarter = whole;
    quarter.granted_bytes = 16 * gibi;
    quarter.used_bytes = gibi;
    const auto forgotten = diagnose_memory(quarter);
    EXPECT_EQ(forgotten.health, Health::warning);
    EXPECT_THAT(forgotten.found,
                HasSubstr("grants 16.00 GiB of the machine's 64.00 GiB, 1.00 GiB of them are in use, "
                          "for 8 of 8 cores"));
    EXPECT_THAT(forgotten.remedy, HasSubstr("srun --mem"));

    quarter.cores = 2;
    EXPECT_EQ(diagnose_memory(quarter).health, Health::ok);
}

TEST(Memory, ThatIsNearlyGoneIsAnError) {
    const MemoryFacts full{.installed_bytes = 64 * gibi, .available_bytes = gibi};
    EXPECT_EQ(diagnose_memory(full).health, Health::error);
    EXPECT_THAT(diagnose_memory(full).remedy, HasSubstr("Stop other processes"));

    const MemoryFacts group{.installed_bytes = 64 * gibi,
                            .available_bytes = 60 * gibi,
                            .granted_bytes = 40 * gibi,
                            .used_bytes = 39 * gibi};
    EXPECT_EQ(diagnose_memory(group).health, Health::error);
    EXPECT_THAT(diagnose_memory(group).remedy, HasSubstr("Request more memory"));
}

TEST(SharedMemory, HasRoomForTheMessagesOfANode) {
    const SharedMemoryFacts facts{.free_bytes = 64 << 20, .size_bytes = 64 << 20, .ranks = 8};
    EXPECT_EQ(diagnose_shared_memory(facts).health, Health::ok);

    auto more_ranks = facts;
    more_ranks.ranks = 9;
    const auto small = diagnose_shared_memory(more_ranks);
    EXPECT_EQ(small.health, Health::warning);
    EXPECT_THAT(small.found,
                HasSubstr("64.00 MiB of 64.00 MiB are free in /dev/shm, and messages of 9 ranks"));
    EXPECT_THAT(small.remedy, HasSubstr("--shm-size"));

    more_ranks.size_bytes = gibi;
    EXPECT_THAT(diagnose_shared_memory(more_ranks).remedy, HasSubstr("Remove files there"));
}

TEST(SharedMemory, ThatCannotBeWrittenIsAnError) {
    const auto none = diagnose_shared_memory({.problem = "No such file or directory"});
    EXPECT_EQ(none.health, Health::error);
    EXPECT_THAT(none.found, HasSubstr("No such file or directory"));
    EXPECT_EQ(diagnose_shared_memory({.has_size = false}).health, Health::ok);
}

}  // namespace
}  // namespace ziggurat::doctor
