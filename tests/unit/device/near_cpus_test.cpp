#include "device/near_cpus.hpp"

#include <gmock/gmock.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::device {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::Test;

constexpr const char* gpu = "0000:17:00.0";

std::vector<int> cpus_of_thread() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    EXPECT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &mask)) {
            cpus.push_back(cpu);
        }
    }
    return cpus;
}

struct NearCpus : Test {
    /// Returns a sysfs in which the GPU has these local CPUs.
    std::string system_with(const std::string& list) {
        const auto device = std::filesystem::path{folder.path()} / "bus/pci/devices" / gpu;
        std::filesystem::create_directories(device);
        std::ofstream{device / "local_cpulist"} << list << '\n';
        return folder.path();
    }

    /// Returns the result of `work` on a separate thread, whose CPU binding ends with it.
    template <class Work>
    static auto on_a_thread(const Work& work) {
        decltype(work()) result{};
        std::thread{[&] { result = work(); }}.join();
        return result;
    }

    test::ScratchFolder folder;
};

TEST_F(NearCpus, ReadsRangesAndSingleCpus) {
    EXPECT_THAT(near_cpus(gpu, system_with("0-2,5,8-9")), ElementsAre(0, 1, 2, 5, 8, 9));
    EXPECT_THAT(near_cpus(gpu, system_with("3")), ElementsAre(3));
}

TEST_F(NearCpus, AreNoneWithoutAListOrADevice) {
    EXPECT_THAT(near_cpus(gpu, system_with("")), IsEmpty());
    EXPECT_THAT(near_cpus("0000:18:00.0", system_with("0-3")), IsEmpty());
    EXPECT_EQ(bind_near("0000:18:00.0", 1, system_with("0-3")), Binding::unknown);
}

TEST_F(NearCpus, BindTheThread) {
    const auto all = cpus_of_thread();
    const auto system = system_with(std::to_string(all.front()));
    const auto [binding, cpus] = on_a_thread([&] {
        const auto bound = bind_near(gpu, 1, system);
        return std::pair{bound, cpus_of_thread()};
    });
    EXPECT_EQ(binding, Binding::near);
    EXPECT_THAT(cpus, ElementsAre(all.front()));
}

TEST_F(NearCpus, DoNotBindMoreThreadsThanCpus) {
    const auto all = cpus_of_thread();
    if (all.size() == 1) {
        GTEST_SKIP() << "a process with one CPU cannot be bound to fewer";
    }
    const auto system = system_with(std::to_string(all.front()));
    const auto [binding, cpus] = on_a_thread([&] {
        const auto bound = bind_near(gpu, 2, system);
        return std::pair{bound, cpus_of_thread()};
    });
    EXPECT_EQ(binding, Binding::too_few);
    EXPECT_EQ(cpus, all);
}

TEST_F(NearCpus, AreFarIfTheThreadMayUseNoneOfThem) {
    const auto last = std::to_string(cpus_of_thread().back() + 1);
    const auto system = system_with(last);
    EXPECT_EQ(on_a_thread([&] { return bind_near(gpu, 1, system); }), Binding::far);
}

}  // namespace
}  // namespace ziggurat::device
