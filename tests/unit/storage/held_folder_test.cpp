#include "storage/held_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "tests/support/scratch_folder.hpp"

namespace ziggurat::storage {
namespace {

namespace fs = std::filesystem;

class HeldFolderTest : public ::testing::Test {
  protected:
    HeldFolderTest() { fs::create_directory(name_); }

    void put(const HeldFolder& folder, const std::string& text) const {
        std::ofstream{folder.way() + "/file"} << text;
    }

    test::ScratchFolder scratch_;
    std::string name_ = scratch_.file("run");
    std::string other_ = scratch_.file("other");
};

TEST_F(HeldFolderTest, IsTheSameUnderAnotherName) {
    const HeldFolder folder{name_};
    EXPECT_EQ(folder.look(), Whereabouts::here);
    EXPECT_EQ(folder.name(), name_);

    fs::rename(name_, other_);
    EXPECT_EQ(folder.look(), Whereabouts::elsewhere);
    EXPECT_EQ(folder.name(), fs::canonical(other_));
    fs::create_directory(name_);  // the folder of another run
    put(folder, "mine");

    EXPECT_EQ(folder.look(), Whereabouts::elsewhere);
    EXPECT_TRUE(fs::is_empty(name_));
    EXPECT_EQ(test::contents_of(other_ + "/file"), "mine");
    fs::remove(name_);
    fs::rename(other_, name_);
    EXPECT_EQ(folder.look(), Whereabouts::here);
}

TEST_F(HeldFolderTest, IsSaidByItsName) {
    const HeldFolder folder{name_};
    EXPECT_EQ(folder.said("'" + folder.way() + "/a' and '" + folder.way() + "'"),
              "'" + name_ + "/a' and '" + name_ + "'");
    EXPECT_EQ(folder.said(folder.way() + "1/a"), folder.way() + "1/a") << "another descriptor";
    EXPECT_EQ(folder.said(""), "");
    fs::rename(name_, other_);
    EXPECT_EQ(folder.said(folder.way() + "/a"), fs::canonical(other_).string() + "/a");
}

TEST_F(HeldFolderTest, IsRenewedWhereItWas) {
    HeldFolder folder{name_};
    const std::string way = folder.way();
    fs::remove(name_);
    EXPECT_EQ(folder.look(), Whereabouts::gone);
    fs::create_directory(name_);
    EXPECT_EQ(folder.look(), Whereabouts::gone) << "the name alone is not the folder";

    folder.renew(HeldFolder{name_});

    EXPECT_EQ(folder.way(), way);
    EXPECT_EQ(folder.look(), Whereabouts::here);
    put(folder, "anew");
    EXPECT_EQ(test::contents_of(name_ + "/file"), "anew");
}

TEST_F(HeldFolderTest, ThatIsNotThereIsMetByWhoWrites) {
    const HeldFolder folder{other_};
    EXPECT_FALSE(folder.is_held());
    EXPECT_EQ(folder.way(), other_);
    EXPECT_EQ(folder.said(other_ + "/a"), other_ + "/a");
    EXPECT_EQ(folder.look(), Whereabouts::here);
}

}  // namespace
}  // namespace ziggurat::storage
