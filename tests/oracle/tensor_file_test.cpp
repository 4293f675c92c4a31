#include "tests/support/tensor_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/norm_gap.hpp"

namespace ziggurat::test {
namespace {

std::filesystem::path oracle(const std::string& name) {
    const char* root = std::getenv("PROJECT_SOURCE_DIR");
    return std::filesystem::path{root == nullptr ? "." : root} / "tests/oracle" / (name + ".safetensors");
}

class Oracles : public ::testing::TestWithParam<const char*> {};

TEST_P(Oracles, HoldAGradientAndTwoStatesOfEveryParameter) {
    const TensorFile file{oracle(GetParam())};
    const auto gradients = file.under("gradient/"), initial = file.under("initial/"),
               last = file.under("final/");
    ASSERT_GT(gradients.size(), 15u);
    for (const auto& [name, gradient] : gradients) {
        ASSERT_TRUE(initial.contains(name) && last.contains(name)) << name;
        EXPECT_EQ(gradient.shape, initial.at(name).shape) << name;
        EXPECT_EQ(gradient.shape, last.at(name).shape) << name;
        EXPECT_EQ(norm_gap(last.at(name).values, initial.at(name).values) > 0, !is_key_bias(name)) << name;
    }
    EXPECT_EQ(initial.size(), gradients.size());
    EXPECT_EQ(last.size(), gradients.size());
}

TEST_P(Oracles, CountTheLossOfTheLogitsThatTheyHold) {
    const TensorFile file{oracle(GetParam())};
    const auto& logits = file.at("logits");
    const auto& targets = file.at("batch/targets").integers;
    const auto& mask = file.at("batch/loss_mask").integers;
    const auto vocab = std::size_t(logits.shape.at(2));
    double sum = 0;
    int counted = 0;
    for (std::size_t row = 0; row < targets.size(); ++row) {
        if (mask[row] != 0) {
            double denominator = 0;
            for (std::size_t i = 0; i < vocab; ++i) {
                denominator += std::exp(double(logits.values[row * vocab + i]));
            }
            sum += std::log(denominator) - double(logits.values[row * vocab + std::size_t(targets[row])]);
            ++counted;
        }
    }
    EXPECT_NEAR(sum / counted, double(file.at("loss").values.at(0)), 1e-5);
    EXPECT_FLOAT_EQ(file.at("loss").values.at(0), file.at("losses").values.at(0));
    EXPECT_LT(counted, int(targets.size()));
}

TEST_P(Oracles, ClipTheNormOfTheGradientsThatTheyHold) {
    const TensorFile file{oracle(GetParam())};
    SquaredGap all;
    for (const auto& [name, gradient] : file.under("gradient/")) {
        all += squared_gap(gradient.values, gradient.values);
    }
    EXPECT_NEAR(std::sqrt(all.oracle), double(file.at("gradient_norms").values.at(0)), 1e-5);
    EXPECT_GT(std::sqrt(all.oracle), 1.0);
}

INSTANTIATE_TEST_SUITE_P(Files, Oracles, ::testing::Values("gpt2_tiny", "llama_tiny"), [](const auto& file) {
    return std::string{file.param};
});

TEST(TensorFile, SaysWhatIsWrongWithIt) {
    EXPECT_THROW(TensorFile{"/nonexistent"}, std::runtime_error);
    const TensorFile file{oracle("gpt2_tiny")};
    EXPECT_THROW(file.at("gradient/none"), std::runtime_error);
    const auto cut = std::filesystem::temp_directory_path() / "ziggurat_cut.safetensors";
    std::filesystem::copy_file(oracle("gpt2_tiny"), cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 4);
    EXPECT_THROW(TensorFile{cut}, std::runtime_error);
    std::filesystem::remove(cut);
}

TEST(NormGap, MeasuresSmallTensorsAgainstTheWholeGradient) {
    const std::map<std::string, StoredTensor> oracle{{"large", {{2}, {300, 400}, {}}},
                                                     {"small", {{1}, {0}, {}}}};
    const auto gaps = gradient_gaps({{"large", {300, 401}}, {"small", {0.05f}}}, oracle);
    EXPECT_NEAR(gaps.at("large"), 1.0 / 500, 1e-9);
    EXPECT_NEAR(gaps.at("small"), 0.1, 1e-6);  // floor: 1e-3 of 500
}

TEST(NormGap, IsInfiniteForWhatIsMissingOrNotANumber) {
    const std::map<std::string, StoredTensor> oracle{{"x", {{2}, {1, 1}, {}}}};
    EXPECT_TRUE(std::isinf(gradient_gaps({}, oracle).at("x")));
    EXPECT_TRUE(std::isinf(gradient_gaps({{"x", {1, std::nanf("")}}}, oracle).at("x")));
    EXPECT_TRUE(std::isinf(gradient_gaps({{"x", {1, 1, 1}}}, oracle).at("x")));
    EXPECT_EQ(gradient_gaps({{"x", {1, 1}}}, oracle).at("x"), 0);
}

}  // namespace
}  // namespace ziggurat::test
