#include "storage/numa_local_folders.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ziggurat::storage {
namespace {

namespace fs = std::filesystem;

/// A fake sysfs, in which the disk of `folder` is on one of two NUMA nodes.
class PretendedSystem : public testing::Test {
  protected:
    PretendedSystem() {
        fs::create_directories(folder);
        write("devices/pci0/nvme0/nvme0n1/nvme0n1p1/size", "1");
        const int cpu = ::sched_getcpu();
        cpu_set_t usable;
        ::sched_getaffinity(0, sizeof usable, &usable);
        for (int c = 0; c < CPU_SETSIZE; ++c) {
            // The CPU that runs this is the only one on node 0, the others are on node 1.
            if (CPU_ISSET(c, &usable)) {
                write("devices/system/node/node" + std::string{c == cpu ? "0" : "1"} + "/cpu" +
                          std::to_string(c),
                      "");
            }
        }
        fs::create_directories(root / "devices/system/node/node1");
        own_cpu = cpu;
    }
    ~PretendedSystem() override { fs::remove_all(root); }

    void write(const std::string& path, const std::string& text) const {
        fs::create_directories((root / path).parent_path());
        std::ofstream{root / path} << text;
    }
    /// Sets the device of the disk of `folder`.
    void disk_is(const std::string& device) const {
        struct stat status = {};
        ASSERT_EQ(::stat(folder.c_str(), &status), 0);
        fs::create_directories(root / "dev/block");
        fs::create_directory_symlink(root / device, root / "dev/block" /
                                                        (std::to_string(major(status.st_dev)) + ":" +
                                                         std::to_string(minor(status.st_dev))));
    }

    fs::path root = fs::temp_directory_path() / ("near." + std::to_string(::getpid()));
    fs::path folder = root / "data";
    int own_cpu = -1;
};

TEST_F(PretendedSystem, KnowsTheControllerOfAPartition) {
    write("devices/pci0/numa_node", "1\n");
    disk_is("devices/pci0/nvme0/nvme0n1/nvme0n1p1");

    EXPECT_EQ(numa_node_of_disk(folder, root), 1);
}

TEST_F(PretendedSystem, KnowsTheDisksOfARaid) {
    write("devices/pci0/numa_node", "1\n");
    write("devices/virtual/block/md0/size", "1");
    fs::create_directories(root / "devices/virtual/block/md0/slaves");
    fs::create_directory_symlink(root / "devices/pci0/nvme0/nvme0n1",
                                 root / "devices/virtual/block/md0/slaves/nvme0n1");
    disk_is("devices/virtual/block/md0");

    EXPECT_EQ(numa_node_of_disk(folder, root), 1);
}

TEST_F(PretendedSystem, TakesMinusOneForNotKnown) {
    write("devices/pci0/numa_node", "-1\n");
    disk_is("devices/pci0/nvme0/nvme0n1/nvme0n1p1");

    EXPECT_EQ(numa_node_of_disk(folder, root), std::nullopt);
    EXPECT_EQ(numa_node_of_disk(folder / "nowhere", root), std::nullopt);
}

TEST_F(PretendedSystem, KnowsTheNodeOfABoundProcess) {
    cpu_set_t before;
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(own_cpu, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);

    EXPECT_EQ(numa_node_of_process(root), 0);

    ::sched_setaffinity(0, sizeof before, &before);
    if (CPU_COUNT(&before) > 1) {
        EXPECT_EQ(numa_node_of_process(root), std::nullopt);
    }
}

TEST(ChooseNear, TakesTheFoldersOfTheNode) {
    const std::vector<std::string> folders{"/a", "/b", "/c"};
    const std::vector<std::optional<int>> nodes{0, 1, 0};

    EXPECT_EQ(choose_near(folders, nodes, 0).folders, (std::vector<std::string>{"/a", "/c"}));
    EXPECT_EQ(choose_near(folders, nodes, 1).folders, (std::vector<std::string>{"/b"}));
    EXPECT_EQ(choose_near(folders, nodes, 1).numa_reason, "");
}

TEST(ChooseNear, TakesAllFoldersAndSaysWhyWhereNothingIsKnown) {
    const std::vector<std::string> folders{"/a", "/b"};
    const std::vector<std::optional<int>> nodes{0, std::nullopt};

    EXPECT_EQ(choose_near(folders, nodes, std::nullopt).folders, folders);
    EXPECT_NE(choose_near(folders, nodes, std::nullopt).numa_reason, "");
    EXPECT_EQ(choose_near(folders, nodes, 1).folders, folders);
    EXPECT_NE(choose_near(folders, nodes, 1).numa_reason.find("NUMA node 1"), std::string::npos);
}

}  // namespace
}  // namespace ziggurat::storage
