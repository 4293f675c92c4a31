/// AdamW with slowly decaying moments against PyTorch in float64.
///
/// tests/oracle/README.md defines bounds and files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "kernels/adamw.hpp"
#include "optim/adamw_inputs.hpp"
#include "optim/learning_rate.hpp"
#include "tests/support/norm_gap.hpp"
#include "tests/support/tensor_file.hpp"

namespace ziggurat::optim {
namespace {

std::string path_of(const std::string& file) {
    const char* root = std::getenv("PROJECT_SOURCE_DIR");
    return std::string{root == nullptr ? "." : root} + "/tests/oracle/" + file;
}

TEST(SlowMoments, AreThoseOfPyTorch) {
    const auto config = nlohmann::json::parse(std::ifstream{path_of("slow_moments.json")});
    const test::TensorFile oracle{path_of("slow_moments.safetensors")};
    const auto& gradients = oracle.at("gradients");
    const auto steps = gradients.shape.at(0);
    const auto size = static_cast<std::size_t>(gradients.shape.at(1));
    const spec::LearningRate constant{.kind = spec::ScheduleKind::constant};
    spec::Optimizer optimizer;
    optimizer.lr = config.at("optimizer").at("lr");
    optimizer.epsilon = config.at("optimizer").at("eps");
    const float weight_decay = config.at("optimizer").at("weight_decay");
    ASSERT_EQ(config.at("betas").size(), 2u);

    for (std::size_t i = 0; i < config.at("betas").size(); ++i) {
        optimizer.beta1 = config.at("betas").at(i).at(0);
        optimizer.beta2 = config.at("betas").at(i).at(1);
        const device::Stream stream{1};
        auto weights = oracle.at("initial").values;
        std::vector<float> first(size), second(size);

        for (std::int64_t step = 0; step < steps; ++step) {
            const auto inputs = make_step_inputs(
                optimizer, {}, optim::learning_rate(constant, optimizer.lr, steps, step), step, step + 1, 1);
            const auto begin = static_cast<std::size_t>(step) * size;
            kernels::adamw_update<float, float>(
                stream, {optimizer.beta1, optimizer.beta2, optimizer.epsilon}, weight_decay, 1, &inputs,
                weights, std::span{gradients.values}.subspan(begin, size), first, second, {});
        }

        const auto expect_near = [&](const char* what, std::span<const float> ours) {
            const auto& theirs = oracle.at(std::to_string(i) + "/" + what).values;
            EXPECT_LE(test::norm_gap(ours, theirs), config.at("bounds").at(what)) << what << ", case " << i;
        };
        expect_near("first_moment", first);
        expect_near("second_moment", second);
        expect_near("weights", weights);
    }
}

}  // namespace
}  // namespace ziggurat::optim
