#include "deck/files/token_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::deck {
namespace {

using enum spec::TokenFormat;

class NamedTokenFiles : public ::testing::Test {
  protected:
    NamedTokenFiles() {
        for (const char* name : {"a1.bin", "a2.bin", "pair.idx", "pair.bin", "half.idx"}) {
            std::ofstream{folder_.file(name)} << "whatever is in it";
        }
    }
    NamedFiles named(spec::TokenFormat format, const std::string& name) const {
        return look_for({.format = format, .path = folder_.file(name)});
    }

    test::ScratchFolder folder_;
};

TEST_F(NamedTokenFiles, AreThereWhateverIsInThem) {
    for (const auto format : {text, llmc, raw}) {
        EXPECT_EQ(named(format, "a1.bin").reason, "");
        EXPECT_EQ(named(format, "a?.bin").reason, "");
        EXPECT_EQ(named(format, "").reason, "") << "a folder is no file, which its reader says";
    }
    EXPECT_EQ(named(megatron, "pair").reason, "");
}

TEST_F(NamedTokenFiles, AreMissing) {
    for (const auto format : {text, llmc, raw}) {
        EXPECT_TRUE(named(format, "b1.bin").is_missing);
        EXPECT_EQ(named(format, "b?.bin").reason, "no file matches this pattern");
        EXPECT_TRUE(named(format, "b?.bin").is_missing);
    }
    EXPECT_EQ(named(megatron, "half").reason, "'" + folder_.file("half.bin") + "' is not here");
    EXPECT_TRUE(named(megatron, "none").is_missing);
}

TEST_F(NamedTokenFiles, AreNamedWithoutTheSuffixOfEither) {
    for (const char* name : {"pair.idx", "pair.bin"}) {
        const auto found = named(megatron, name);
        EXPECT_FALSE(found.is_missing);
        EXPECT_EQ(found.advice, "Write '" + folder_.file("pair") + "'.");
    }
}

TEST_F(NamedTokenFiles, AreNotSearchedInManyFolders) {
    std::filesystem::create_directory(folder_.file("d1"));
    std::ofstream{folder_.file("d1/a")} << "x";
    EXPECT_EQ(named(llmc, "d?/a").reason, "patterns can match file names, not folders");
    EXPECT_FALSE(named(llmc, "d?/a").is_missing);
}

}  // namespace
}  // namespace ziggurat::deck
