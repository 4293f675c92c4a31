#include "storage/directory_handle.hpp"

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

    void put(const DirectoryHandle& folder, const std::string& text) const {
        std::ofstream{folder.fd_path() + "/file"} << text;
    }

    test::ScratchFolder scratch_;
    std::string name_ = scratch_.file("run");
    std::string other_ = scratch_.file("other");
};

TEST_F(HeldFolderTest, IsTheSameUnderAnotherName) {
    const DirectoryHandle folder{name_};
    EXPECT_EQ(folder.path_status(), PathStatus::unchanged);
    EXPECT_EQ(folder.name(), name_);

    fs::rename(name_, other_);
    EXPECT_EQ(folder.path_status(), PathStatus::moved);
    EXPECT_EQ(folder.name(), fs::canonical(other_));
    fs::create_directory(name_);  // the folder of another run
    put(folder, "mine");

    EXPECT_EQ(folder.path_status(), PathStatus::moved);
    EXPECT_TRUE(fs::is_empty(name_));
    EXPECT_EQ(test::contents_of(other_ + "/file"), "mine");
    fs::remove(name_);
    fs::rename(other_, name_);
    EXPECT_EQ(folder.path_status(), PathStatus::unchanged);
}

TEST_F(HeldFolderTest, IsSaidByItsName) {
    const DirectoryHandle folder{name_};
    EXPECT_EQ(folder.with_display_path("'" + folder.fd_path() + "/a' and '" + folder.fd_path() + "'"),
              "'" + name_ + "/a' and '" + name_ + "'");
    EXPECT_EQ(folder.with_display_path(folder.fd_path() + "1/a"), folder.fd_path() + "1/a")
        << "another descriptor";
    EXPECT_EQ(folder.with_display_path(""), "");
    fs::rename(name_, other_);
    EXPECT_EQ(folder.with_display_path(folder.fd_path() + "/a"), fs::canonical(other_).string() + "/a");
}

TEST_F(HeldFolderTest, IsRenewedWhereItWas) {
    DirectoryHandle folder{name_};
    const std::string path = folder.fd_path();
    fs::remove(name_);
    EXPECT_EQ(folder.path_status(), PathStatus::removed);
    fs::create_directory(name_);
    EXPECT_EQ(folder.path_status(), PathStatus::removed) << "the name alone is not the folder";

    folder.reopen(DirectoryHandle{name_});

    EXPECT_EQ(folder.fd_path(), path);
    EXPECT_EQ(folder.path_status(), PathStatus::unchanged);
    put(folder, "anew");
    EXPECT_EQ(test::contents_of(name_ + "/file"), "anew");
}

TEST_F(HeldFolderTest, ThatIsNotThereIsMetByWhoWrites) {
    const DirectoryHandle folder{other_};
    EXPECT_FALSE(folder.is_held());
    EXPECT_EQ(folder.fd_path(), other_);
    EXPECT_EQ(folder.with_display_path(other_ + "/a"), other_ + "/a");
    EXPECT_EQ(folder.path_status(), PathStatus::unchanged);
}

}  // namespace
}  // namespace ziggurat::storage
