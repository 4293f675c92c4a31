#include "kernels/launch/cpu_features.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>

namespace ziggurat::kernels {
namespace {

constexpr const char* required[] = {"sse4.2", "avx2", "avx512f", "avx512bf16", nullptr};

int describe(HasFeature has, std::string& text, std::size_t capacity = 1024) {
    std::string buffer(capacity, 'x');
    const int missing = describe_missing_features(required, has, buffer.data(), capacity);
    text = buffer.c_str();
    return missing;
}

bool has_avx2_at_most(const char* name) {
    return !std::string_view{name}.starts_with("avx512");
}

TEST(CpuFeatures, SaysWhatIsMissingAndWhatToBuildFor) {
    std::string text;

    EXPECT_EQ(describe(has_avx2_at_most, text), 2);
    EXPECT_EQ(
        text,
        "ziggurat: error: this processor lacks avx512f, avx512bf16 (the program was built for one that has "
        "them). Build it on this machine, or with -DZIGGURAT_MARCH=x86-64-v3.\n");
}

TEST(CpuFeatures, NamesTheHighestLevelThatTheProcessorReaches) {
    std::string text;
    describe([](const char*) { return false; }, text);
    EXPECT_TRUE(text.ends_with("MARCH=x86-64.\n")) << text;

    describe([](const char* name) { return std::strncmp(name, "avx", 3) != 0; }, text);
    EXPECT_TRUE(text.ends_with("MARCH=x86-64-v2.\n")) << text;

    describe([](const char* name) { return std::string_view{name} != "avx512bf16"; }, text);
    EXPECT_TRUE(text.ends_with("MARCH=x86-64-v4.\n")) << text;
}

TEST(CpuFeatures, IsSilentWhereNothingIsMissing) {
    std::string text;

    EXPECT_EQ(describe([](const char*) { return true; }, text), 0);
    EXPECT_EQ(text, "");
}

TEST(CpuFeatures, StaysInsideItsBuffer) {
    std::string text;

    EXPECT_EQ(describe(has_avx2_at_most, text, 20), 2);
    EXPECT_EQ(text, "ziggurat: error: th");
}

TEST(CpuFeatures, FindsEverythingOnTheMachineThatRunsThis) {
    EXPECT_TRUE(features_are_checked);
    for (const char* const* name = compiled_features; *name != nullptr; ++name) {
        EXPECT_TRUE(processor_has(*name)) << *name;
    }
}

}  // namespace
}  // namespace ziggurat::kernels
