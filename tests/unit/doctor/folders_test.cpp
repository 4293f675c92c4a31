#include "doctor/folders.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ziggurat::doctor {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t gibi = std::int64_t{1} << 30;

FolderFacts on_a_disk() {
    return {.path = "runs/a", .use = FolderUse::run, .file_system = "ext4", .free_bytes = 10 * gibi};
}

TEST(Folder, SaysWhereItIsAndHowMuchRoomThereIs) {
    EXPECT_EQ(diagnose_folder(on_a_disk()).health, Health::ok);
    EXPECT_EQ(diagnose_folder(on_a_disk()).found, "'runs/a': ext4, 10.00 GiB free");
    EXPECT_EQ(diagnose_folder(on_a_disk()).subject, "runs/a");
    auto to_come = on_a_disk();
    to_come.stands_in = "/home";
    EXPECT_THAT(diagnose_folder(to_come).found, HasSubstr("it is made in '/home'"));
}

TEST(Folder, ThatCannotBeWrittenIsAnError) {
    auto refused = on_a_disk();
    refused.problem = "Read-only file system";
    EXPECT_EQ(diagnose_folder(refused).health, Health::error);
    EXPECT_EQ(diagnose_folder(refused).found, "'runs/a' cannot be written (Read-only file system)");
    EXPECT_THAT(diagnose_folder(refused).remedy, StartsWith("Set run.dir to a folder where you may write"));
    refused.stands_in = "/home";
    EXPECT_THAT(diagnose_folder(refused).found, HasSubstr("to be made in '/home', cannot be written"));
    refused.use = FolderUse::nvme;
    EXPECT_THAT(diagnose_folder(refused).remedy, StartsWith("Set tiers.nvme.paths to"));
}

TEST(Folder, IsFullForWhatTheDeckKeeps) {
    auto facts = on_a_disk();
    facts.needed_bytes = 11 * gibi;
    EXPECT_EQ(diagnose_folder(facts).health, Health::warning);
    EXPECT_THAT(diagnose_folder(facts).found, HasSubstr("10.00 GiB free, where 11.00 GiB may be needed"));
    facts.has_size = false;
    EXPECT_EQ(diagnose_folder(facts).health, Health::ok);
    EXPECT_THAT(diagnose_folder(facts).found, HasSubstr("no limit of its own"));
    facts = on_a_disk();
    facts.free_bytes = gibi / 8;
    EXPECT_EQ(diagnose_folder(facts).health, Health::warning);
}

TEST(Folder, InMemoryIsNoDiskAndANetworkIsNoNvme) {
    auto memory = on_a_disk();
    memory.is_memory = true;
    EXPECT_EQ(diagnose_folder(memory).health, Health::warning);
    auto network = on_a_disk();
    network.is_network = true;
    EXPECT_EQ(diagnose_folder(network).health, Health::ok);
    EXPECT_THAT(diagnose_folder(network).found, HasSubstr("over a network"));
    network.use = FolderUse::nvme;
    EXPECT_EQ(diagnose_folder(network).health, Health::warning);
}

TEST(DirectIo, IsDoneWithoutWhereTheFileSystemHasNone) {
    auto facts = on_a_disk();
    EXPECT_EQ(diagnose_direct(facts).health, Health::ok);
    facts.not_direct_reason = "its file system has no O_DIRECT";
    EXPECT_EQ(diagnose_direct(facts).health, Health::warning);
    EXPECT_THAT(diagnose_direct(facts).found,
                HasSubstr("no O_DIRECT, so all I/O goes through the page cache"));
    facts.use = FolderUse::nvme;
    EXPECT_EQ(diagnose_direct(facts).health, Health::warning);
    EXPECT_THAT(diagnose_direct(facts).remedy,
                StartsWith("Set tiers.nvme.paths to a file system with O_DIRECT"));
    facts.damage = "what was written came back changed from byte 4096 on";
    EXPECT_EQ(diagnose_direct(facts).health, Health::error);
}

TEST(SharedFolder, NamesTheNodesThatSeeAnother) {
    EXPECT_EQ(diagnose_shared_folder({.path = "runs/a", .num_nodes = 2}).found,
              "'runs/a': one on all 2 nodes");
    SharedFolderFacts facts{.path = "runs/a", .num_nodes = 8, .unseen = {{"vm1", "it is not there"}}};
    EXPECT_EQ(diagnose_shared_folder(facts).health, Health::error);
    EXPECT_EQ(diagnose_shared_folder(facts).found,
              "'runs/a' is not the same folder on 1 of 8 nodes (vm1: it is not there)");
    facts.unseen.insert(facts.unseen.end(), 3, {"vm2", "it is not there"});
    EXPECT_THAT(diagnose_shared_folder(facts).found, testing::EndsWith("vm2: it is not there ...)"));
}

TEST(Hdf5Locks, MatterWhereTheSystemRefusesThem) {
    const LockFacts works{.path = "runs"};
    EXPECT_EQ(diagnose_locks(works).health, Health::ok);

    auto refused = works;
    refused.problem = "Function not implemented";
    refused.has_no_locks = true;
    EXPECT_EQ(diagnose_locks(refused).health, Health::warning);
    EXPECT_THAT(diagnose_locks(refused).remedy, HasSubstr("export HDF5_USE_FILE_LOCKING=FALSE"));
    refused.setting = "TRUE";
    EXPECT_EQ(diagnose_locks(refused).health, Health::error);
    refused.setting = "BEST_EFFORT";
    EXPECT_EQ(diagnose_locks(refused).health, Health::ok);
    refused.has_no_locks = false;
    EXPECT_EQ(diagnose_locks(refused).health, Health::warning);
    refused.setting = "FALSE";
    EXPECT_EQ(diagnose_locks(refused).health, Health::ok);

    refused.setting = "";
    refused.asks_for_none = false;
    EXPECT_EQ(diagnose_locks(refused).health, Health::error);
}

TEST(Hdf5Locks, HaveThreeSettings) {
    const auto other = diagnose_locks({.path = "runs", .setting = "no"});
    EXPECT_EQ(other.health, Health::warning);
    EXPECT_THAT(other.found, HasSubstr("HDF5_USE_FILE_LOCKING is no"));
    EXPECT_THAT(other.remedy, HasSubstr("TRUE, FALSE or BEST_EFFORT"));
}

}  // namespace
}  // namespace ziggurat::doctor
