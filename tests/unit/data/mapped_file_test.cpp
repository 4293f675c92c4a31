#include "data/mapped_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::deck_error_of;
using test::ScratchFolder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(MappedFile, ReadsUnalignedNumbersAndMoves) {
    const ScratchFolder folder;
    MappedFile file{folder.write("x", "abc" + test::little(std::int64_t{-5})), "data.train[0].path"};

    MappedFile moved{std::move(file)};
    MappedFile assigned{folder.write("y", "y"), "k"};
    assigned = std::move(moved);

    EXPECT_EQ(11, assigned.bytes());
    EXPECT_EQ(-5, assigned.load<std::int64_t>(3));
    EXPECT_EQ('b', assigned.load<char>(1));
    EXPECT_THROW(assigned.load<std::int64_t>(4), Error);
    EXPECT_THROW(assigned.load<std::int64_t>(-1), Error);
}

TEST(MappedFile, SaysWhatIsWrongWithAPath) {
    const ScratchFolder folder;
    const auto message = [](const std::string& path) {
        return deck_error_of([&] { MappedFile{path, "data.train[0].path"}; });
    };
    const auto pipe = folder / "pipe";
    ASSERT_EQ(0, mkfifo(pipe.c_str(), 0600));

    EXPECT_THAT(message(folder / "none"),
                StartsWith("data.train[0].path: cannot read '" + (folder / "none") + "'"));
    EXPECT_THAT(message(folder / "none"), HasSubstr("No such file or directory, seen from "));
    EXPECT_THAT(message(folder.write("empty", "")), HasSubstr("(an empty file"));
    EXPECT_THAT(message(folder / ""), HasSubstr("(a directory"));
    EXPECT_THAT(message(pipe), HasSubstr("(not a regular file"));
}

TEST(MappedFileDeathTest, NamesAFileThatIsCutWhileItIsRead) {
    const ScratchFolder folder;
    const auto path = folder.write("cut", std::string(10'000, 'x'));
    const MappedFile gone{folder.write("gone", std::string(10'000, 'x')), "k"};
    const MappedFile file{path, "k"};
    EXPECT_EQ('x', file.load<char>(9'000));
    ASSERT_EQ(0, truncate(path.c_str(), 0));
    EXPECT_EXIT(EXPECT_NE('y', file.load<char>(9'000)), ::testing::ExitedWithCode(3),
                "cannot read '" + path + "' .it was truncated");
}

TEST(ExpandPaths, SortsMatchesAndPrefersAFileOfThatVeryName) {
    const ScratchFolder folder;
    folder.write("b_2.bin", "x");
    folder.write("b_10.bin", "x");
    folder.write("c[1].bin", "x");

    EXPECT_EQ((std::vector<std::string>{folder / "b_10.bin", folder / "b_2.bin"}),
              expand_paths(folder / "b_*.bin", "k"));
    EXPECT_EQ((std::vector<std::string>{folder / "c[1].bin"}), expand_paths(folder / "c[1].bin", "k"));
    EXPECT_EQ((std::vector<std::string>{folder / "none.bin"}), expand_paths(folder / "none.bin", "k"));
    EXPECT_THAT(
        deck_error_of([&] { expand_paths(folder / "d*", "data.validation[1].path"); }),
        StartsWith("data.validation[1].path: cannot read '" + (folder / "d*") + "' (no file matches"));
}

}  // namespace
}  // namespace ziggurat::data
