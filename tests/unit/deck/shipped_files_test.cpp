#include "deck/files/shipped_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace ziggurat::deck {
namespace {

namespace fs = std::filesystem;

class ShippedFiles : public ::testing::Test {
  protected:
    void SetUp() override {
        fs::create_directories(folder_ / "prefix/share/ziggurat/decks/machines");
        fs::create_directories(folder_ / "sources/decks/machines");
        std::ofstream{folder_ / "prefix/share/ziggurat/decks/nobody_has_this.yaml"} << "{}";
    }
    void TearDown() override { fs::remove_all(folder_); }

    fs::path folder_ = fs::temp_directory_path() / ("ziggurat_shipped_" + std::to_string(::getpid()));
    std::string installed_ = folder_ / "prefix/bin/ziggurat";
};

TEST_F(ShippedFiles, LieBesideTheProgramWhereItIsInstalledAndWhereItIsBuilt) {
    EXPECT_EQ(shipped_decks(installed_), folder_ / "prefix/share/ziggurat/decks");
    EXPECT_EQ(shipped_decks(folder_ / "sources/build/release/bin/ziggurat"), folder_ / "sources/decks");
    EXPECT_EQ(shipped_decks(folder_ / "nowhere/bin/ziggurat"), "");
    EXPECT_EQ(shipped_decks(""), "");
}

TEST_F(ShippedFiles, TakeTheNameOfWhatIsNotHere) {
    EXPECT_EQ(file_or_shipped("decks/nobody_has_this.yaml", installed_),
              folder_ / "prefix/share/ziggurat/decks/nobody_has_this.yaml");
    EXPECT_EQ(file_or_shipped("decks/nor_this.yaml", installed_), "decks/nor_this.yaml");
    EXPECT_EQ(file_or_shipped("nobody_has_this.yaml", installed_), "nobody_has_this.yaml");
    EXPECT_EQ(file_or_shipped("/decks/nobody_has_this.yaml", installed_), "/decks/nobody_has_this.yaml");
    EXPECT_EQ(file_or_shipped("../decks/nobody_has_this.yaml", installed_), "../decks/nobody_has_this.yaml");
}

}  // namespace
}  // namespace ziggurat::deck
