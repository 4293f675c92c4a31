#include "data/tokenize/temporary_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::ScratchFolder;

std::set<std::string> names_in(const ScratchFolder& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator{folder / "."}) {
        names.insert(entry.path().filename());
    }
    return names;
}

std::string this_host() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

TEST(TemporaryFile, HasItsNameWhenItIsComplete) {
    const ScratchFolder folder;
    TemporaryFile file{folder / "a.samples"};
    file.append("..body");
    EXPECT_FALSE(names_in(folder).contains("a.samples"));
    file.complete("ab");
    EXPECT_EQ(names_in(folder), std::set<std::string>{"a.samples"});
    EXPECT_EQ(test::contents_of(folder / "a.samples"), "abbody");
}

TEST(TemporaryFile, IsRemovedByAnOwnerThatEndsEarly) {
    const ScratchFolder folder;
    { TemporaryFile{folder / "a.samples"}.append("x"); }
    EXPECT_TRUE(names_in(folder).empty());
}

TEST(TemporaryFile, SharesItsNameWithNoOther) {
    const ScratchFolder folder;
    const TemporaryFile one{folder / "a.samples"};
    const TemporaryFile other{folder / "a.samples"};
    EXPECT_EQ(names_in(folder).size(), 2u);
}

TEST(TemporaryFile, MayHaveNoName) {
    const ScratchFolder folder;
    TemporaryFile file;
    file.append("..body");
    file.complete("ab");
    std::string read(6, ' ');
    EXPECT_EQ(::pread(file.file().get(), read.data(), read.size(), 0), 6);
    EXPECT_EQ(read, "abbody");
}

TEST(TemporaryFile, IsUnwritableInAFolderThatDoesNotExist) {
    const ScratchFolder folder;
    EXPECT_THROW(TemporaryFile{folder / "no/a.samples"}, UnwritableFile);
}

TEST(RemoveAbandoned, RemovesFilesOfProcessesThatEnded) {
    const ScratchFolder folder;
    const TemporaryFile running{folder / "a.jsonl.1.samples"};
    const auto kept = names_in(folder);
    folder.write("a.jsonl.1.samples." + this_host() + "-17.tmp", "x");
    folder.write("a.jsonl.2.samples.some-other.host-17_1.tmp", "x");
    EXPECT_EQ(names_in(folder).size(), 3u);
    remove_abandoned(folder / "a.jsonl", ".samples");
    EXPECT_EQ(names_in(folder), kept) << "locks of this file system are those of all its processes";
}

TEST(RemoveAbandoned, KeepsFilesOfAnotherForm) {
    const ScratchFolder folder;
    const std::set<std::string> others{"a.jsonl",
                                       "a.jsonl.1.samples",
                                       "a.jsonl.tmp",
                                       "b.jsonl.1.samples.host-1.tmp",
                                       "a.jsonl.1.samples.notes.tmp",
                                       "a.jsonl.1.samples.host-1x.tmp",
                                       "a.jsonl.1.samples.host-.tmp"};
    for (const auto& name : others) {
        folder.write(name, "x");
    }
    remove_abandoned(folder / "a.jsonl", ".samples");
    EXPECT_EQ(names_in(folder), others);
    remove_abandoned(folder / "b.jsonl.1.samples");
    EXPECT_EQ(names_in(folder).size(), others.size() - 1);
}

TEST(RemoveAbandoned, KeepsALockedFile) {
    const ScratchFolder folder;
    const auto path = folder.write("a.samples.host-1.tmp", "x");
    {
        const FileHandle owner{::open(path.c_str(), O_RDWR)};
        ASSERT_EQ(::flock(owner.get(), LOCK_EX), 0);
        remove_abandoned(folder / "a.samples");
        EXPECT_TRUE(std::filesystem::exists(path));
    }
    remove_abandoned(folder / "a.samples");
    EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace ziggurat::data
