#include "data/file_watch.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/corpus.hpp"
#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::ScratchFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A training text and its watcher.
class FileWatchTest : public ::testing::Test {
  protected:
    const ScratchFolder folder_;
    const std::string path_ = folder_.write("text.txt", std::string(10'000, 'x'));
    const Corpus corpus_{[this] {
                             spec::Data data;
                             data.seq = 4;
                             data.train = {{.path = path_}};
                             return data;
                         }(),
                         256, 1};
    FileWatch watch_{corpus_.files(), fingerprints(corpus_.files())};

    /// Sets a modification time that differs from the last one, independent of the file system's clock.
    void set_modified(std::int64_t seconds) const {
        const timespec times[2] = {{seconds, 0}, {seconds, 0}};
        ASSERT_EQ(0, utimensat(AT_FDCWD, path_.c_str(), times, 0));
    }
    std::string refusal() {
        try {
            watch_.check_now();
        } catch (const Error& error) {
            EXPECT_EQ(ErrorKind::resource, error.kind());
            return error.what();
        }
        return "";
    }
};

TEST_F(FileWatchTest, AFileThatStaysIsNotTalkedOf) {
    EXPECT_THAT(watch_.check_now(), IsEmpty());
    set_modified(1'000'000'000);  // touched
    EXPECT_THAT(watch_.check_now(), IsEmpty());
}

TEST_F(FileWatchTest, OtherBytesEndTheRun) {
    {
        std::fstream file{path_, std::ios::in | std::ios::out};
        file.seekp(5000) << "y";
    }
    set_modified(1'000'000'000);
    EXPECT_THAT(refusal(), AllOf(HasSubstr("data.train[0].path: '" + path_ + "' has been rewritten"),
                                 HasSubstr("10000 bytes at the start, 10000 now")));
}

TEST_F(FileWatchTest, AFileThatIsCutEndsTheRun) {
    ASSERT_EQ(0, truncate(path_.c_str(), 500));
    EXPECT_THAT(refusal(), HasSubstr("has been truncated from 10000 to 500 bytes"));
}

TEST_F(FileWatchTest, WarnsOnceOfWhatStillReadsAsBefore) {
    std::ofstream{path_, std::ios::app} << "more";
    EXPECT_THAT(watch_.check_now(), ElementsAre(HasSubstr("has grown from 10000 to 10004 bytes")));
    EXPECT_THAT(watch_.check_now(), IsEmpty());
    folder_.write("other", "y");
    ASSERT_EQ(0, rename((folder_ / "other").c_str(), path_.c_str()));
    EXPECT_THAT(watch_.check_now(), ElementsAre(HasSubstr("has been replaced")));
    EXPECT_THAT(watch_.check_now(), IsEmpty());
}

TEST_F(FileWatchTest, WarnsOfAFileThatIsRemoved) {
    ASSERT_EQ(0, unlink(path_.c_str()));
    EXPECT_THAT(watch_.check_now(), ElementsAre(HasSubstr("has been removed")));
    EXPECT_THAT(watch_.check_now(), IsEmpty());
}

}  // namespace
}  // namespace ziggurat::data
