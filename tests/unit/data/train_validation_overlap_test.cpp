#include "data/train_validation_overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/data/token_files.hpp"

namespace ziggurat::data {
namespace {

using test::ScratchFolder;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SharedFiles : public ::testing::Test {
  protected:
    std::vector<SharedFile> found(const std::vector<std::string>& validated) const {
        return find_train_validation_overlap(validated, trained_);
    }

    ScratchFolder folder_;
    std::vector<std::string> trained_{folder_.write("a.bin", "first tokens"),
                                      folder_.write("b.bin", std::string(300'000, 'b') + "1"),
                                      folder_.write("c.bin", "last tokens!")};
};

TEST_F(SharedFiles, AreOfOneName) {
    EXPECT_THAT(found({trained_[2], folder_.write("new.bin", "other tokens")}),
                ElementsAre(SharedFile{0, 2, false}));
}

TEST_F(SharedFiles, AreLinksToOne) {
    std::filesystem::create_symlink(trained_[0], folder_ / "soft");
    std::filesystem::create_hard_link(trained_[1], folder_ / "hard");
    EXPECT_THAT(found({folder_ / "soft", folder_ / "hard", folder_ / "./a.bin"}),
                ElementsAre(SharedFile{0, 0, false}, SharedFile{1, 1, false}, SharedFile{2, 0, false}));
}

TEST_F(SharedFiles, AreCopies) {
    EXPECT_THAT(
        found({folder_.write("copy", "last tokens!"), folder_.write("v", std::string(300'000, 'b') + "1")}),
        ElementsAre(SharedFile{0, 2, true}, SharedFile{1, 1, true}));
}

TEST_F(SharedFiles, AreNoneThatOnlyBeginOrEndAlike) {
    EXPECT_THAT(
        found({folder_.write("v", "other tokens"), folder_.write("w", std::string(300'000, 'b') + "2"),
               folder_.write("x", "!irst tokens"), folder_.write("y", "first token"), folder_ / "none"}),
        IsEmpty());
    EXPECT_THAT(find_train_validation_overlap({}, trained_), IsEmpty());
    EXPECT_THAT(find_train_validation_overlap(trained_, {}), IsEmpty());
}

}  // namespace
}  // namespace ziggurat::data
