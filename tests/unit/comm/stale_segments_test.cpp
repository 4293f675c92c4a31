#include "comm/session/stale_segments.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::comm {
namespace {

namespace fs = std::filesystem;

const auto me = static_cast<std::uint32_t>(::geteuid());

std::string segment(const std::string& job, const std::string& host = "node7", std::uint32_t user = me) {
    return "vader_segment." + host + "." + std::to_string(user) + "." + job + ".0";
}

/// Makes an old file.
std::string make(const test::ScratchFolder& folder, const std::string& name) {
    const auto path = folder.file(name);
    std::ofstream{path} << std::string(4096, 'x');
    const std::array<timespec, 2> long_ago{timespec{.tv_sec = 1'000'000'000, .tv_nsec = 0},
                                           timespec{.tv_sec = 1'000'000'000, .tv_nsec = 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), long_ago.data(), 0), 0);
    return path;
}

TEST(StaleSegments, AreThoseThatNobodyUses) {
    const test::ScratchFolder folder;
    const auto left = make(folder, segment("7f110001"));
    const auto mapped = make(folder, segment("7f120001"));
    const auto open = make(folder, segment("7f130001"));
    const auto young = folder.file(segment("7f140001"));
    std::ofstream{young} << "x";
    const int file = ::open(mapped.c_str(), O_RDWR);
    void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    const int kept = ::open(open.c_str(), O_RDONLY);

    EXPECT_EQ(remove_stale_segments(folder.path(), "node7", me), 1);

    EXPECT_FALSE(fs::exists(left));
    for (const auto& path : {mapped, open, young}) {
        EXPECT_TRUE(fs::exists(path)) << path;
    }
    ::munmap(memory, 4096);
    ::close(kept);
    EXPECT_EQ(remove_stale_segments(folder.path(), "node7", me), 2);
}

TEST(StaleSegments, AreNotWhatIsCalledOtherwise) {
    const test::ScratchFolder folder;
    const std::array names{segment("7f110001", "node8"),
                           segment("7f110001", "node7", me + 1),
                           segment("job"),
                           std::string{"vader_segment.node7"},
                           std::string{"mine"},
                           segment("7f110001") + ".old"};
    for (const auto& name : names) {
        EXPECT_FALSE(is_segment_name(name, "node7", me)) << name;
        make(folder, name);
    }
    fs::create_symlink(folder.file("mine"), folder.file(segment("7f150001")));

    EXPECT_EQ(remove_stale_segments(folder.path(), "node7", me), 0);
    EXPECT_TRUE(is_segment_name("sm_segment.node7." + std::to_string(me) + ".7f110001.12", "node7", me));
}

}  // namespace
}  // namespace ziggurat::comm
