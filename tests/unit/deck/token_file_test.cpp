#include "deck/files/token_file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "tests/support/scratch_folder.hpp"

namespace ziggurat::deck {
namespace {

/// A file of zeros behind an llm.c header that counts `tokens`; it takes no space on a disk.
std::string llmc_file(const test::ScratchFolder& folder, std::int64_t tokens, std::int64_t stored) {
    std::array<std::int32_t, 256> header{20240520, 1,
                                         static_cast<std::int32_t>(static_cast<std::uint32_t>(tokens))};
    const std::string path = folder.file("tokens.bin");
    std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(header.data()), sizeof header);
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(1024 + 2 * stored));
    return path;
}

TokenFileFacts facts_of(const std::string& path) {
    return inspect({.format = spec::TokenFormat::llmc, .path = path});
}

TEST(TokenFile, OfLlmcMayCountMoreThanItsInt32Holds) {
    const test::ScratchFolder folder;
    const std::int64_t tokens = (std::int64_t{1} << 31) + 5;
    const auto facts = facts_of(llmc_file(folder, tokens, tokens));
    EXPECT_FALSE(facts.trouble) << *facts.trouble;
    EXPECT_EQ(facts.tokens, tokens);
}

TEST(TokenFile, OfLlmcHoldsWhatItsHeaderCounts) {
    const test::ScratchFolder folder;
    EXPECT_EQ(facts_of(llmc_file(folder, 7, 7)).tokens, 7);
    EXPECT_EQ(facts_of(llmc_file(folder, 8, 7)).trouble,
              "its header says 8 tokens in 1040 bytes, it has 1038 bytes");
    EXPECT_TRUE(facts_of(llmc_file(folder, -7, 7)).trouble);
}

}  // namespace
}  // namespace ziggurat::deck
