#include "train/console/retried_output.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <string>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::train {
namespace {

/// Limits the size of files until it is destroyed, as a disk that is full for a moment.
class LargestFile {
  public:
    explicit LargestFile(rlim_t bytes) : handler_{std::signal(SIGXFSZ, SIG_IGN)} {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~LargestFile() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    LargestFile(const LargestFile&) = delete;
    LargestFile& operator=(const LargestFile&) = delete;

  private:
    void (*handler_)(int);
    rlimit before_{};
};

class RetriedOutputTest : public ::testing::Test {
  protected:
    std::string written() const { return test::contents_of(path_); }

    test::ScratchFolder folder_;
    std::string path_ = folder_.file("lines");
    RetriedOutput output_{open_for_writing(path_, OpenMode::append), path_};
};

TEST_F(RetriedOutputTest, WritesEachRecordOnceAndWhole) {
    EXPECT_FALSE(output_.write("first\n"));
    {
        const LargestFile in_the_second{9};
        const auto message = output_.write("second\n");
        ASSERT_TRUE(message);
        EXPECT_EQ(message->severity, Severity::warning);
        EXPECT_NE(message->text.find("'" + path_ + "' (File too large)"), std::string::npos) << message->text;
        EXPECT_EQ(written(), "first\nsec");
        EXPECT_FALSE(output_.write("third\n")) << "one warning is enough";
        ASSERT_TRUE(output_.rest());
        EXPECT_NE(output_.rest()->text.find("2 records"), std::string::npos) << output_.rest()->text;
    }
    const auto message = output_.write("fourth\n");
    ASSERT_TRUE(message);
    EXPECT_EQ(message->severity, Severity::note);
    EXPECT_NE(message->text.find("2 records came late"), std::string::npos) << message->text;
    EXPECT_EQ(written(), "first\nsecond\nthird\nfourth\n");
    EXPECT_FALSE(output_.rest());
    EXPECT_FALSE(output_.write("fifth\n"));
    EXPECT_TRUE(output_.write_last("last\n"));
    EXPECT_EQ(written(), "first\nsecond\nthird\nfourth\nfifth\nlast\n");
}

TEST_F(RetriedOutputTest, CountsWhatIsLostBeyondItsLimit) {
    const std::string large(RetriedOutput::max_held_bytes / 2, 'x');
    {
        const LargestFile none{0};
        ASSERT_TRUE(output_.write(large));
        for (int i = 0; i < 4; ++i) {
            EXPECT_FALSE(output_.write(large));
        }
    }
    const auto message = output_.write("end\n");
    ASSERT_TRUE(message);
    EXPECT_NE(message->text.find("2 records came late, 3 records are lost"), std::string::npos)
        << message->text;
    EXPECT_EQ(written(), large + large + "end\n");
}

TEST_F(RetriedOutputTest, WritesTheRestBeforeTheLastRecord) {
    {
        const LargestFile in_the_first{3};
        ASSERT_TRUE(output_.write("first\n"));
        EXPECT_FALSE(output_.write_last("end\n"));
    }
    EXPECT_TRUE(output_.write_last("end\n"));
    EXPECT_EQ(written(), "first\nend\n");
}

TEST_F(RetriedOutputTest, ContinuesInAnotherFile) {
    {
        const LargestFile in_the_first{3};
        ASSERT_TRUE(output_.write("first\n"));
    }
    const auto other = folder_.file("other");
    output_.replace(open_for_writing(other, OpenMode::append), other);
    output_.write("second\n");
    EXPECT_EQ(test::contents_of(other), "second\n");
    EXPECT_EQ(written(), "fir");
}

}  // namespace
}  // namespace ziggurat::train
