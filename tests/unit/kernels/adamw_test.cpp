#include "kernels/adamw.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "kernels/gradient_norm.hpp"
#include "tests/reference/adamw.hpp"
#include "tests/support/kernel_data.hpp"

namespace ziggurat::kernels {
namespace {

using namespace test;
using tensor::bfloat16;

constexpr AdamW adamw{.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
constexpr float weight_decay = 0.1f;

/// Returns the inputs that the trainer writes for update number t.
StepInputs inputs_of(int t, const AdamW& of = adamw) {
    return {.step = t - 1,
            .learning_rate = 0.01f,
            .inverse_bias1 = float(1 / (1 - std::pow(of.beta1, t))),
            .inverse_sqrt_bias2 = float(1 / std::sqrt(1 - std::pow(of.beta2, t)))};
}

/// Returns the address of inputs that live as long as the call.
const StepInputs* at(const StepInputs& inputs) {
    return &inputs;
}

struct Data {
    explicit Data(std::int64_t count) : master{normal_values<float>(count, 1)} {}

    std::vector<float> master;
    std::vector<float> m = std::vector<float>(master.size());
    std::vector<float> v = m;
    std::vector<bfloat16> parameters = std::vector<bfloat16>(master.size());

    std::vector<float> gradient_of(int t) const {
        return normal_values<float>(static_cast<std::int64_t>(master.size()),
                                    100 + static_cast<std::uint32_t>(t));
    }
    void update(int t, const StepInputs& inputs, const device::Stream& stream = test_stream()) {
        const auto gradient = gradient_of(t);
        adamw_update<bfloat16, float>(stream, adamw, weight_decay, 1, at(inputs), master, gradient, m, v,
                                      parameters);
        stream.finish();
    }
};

TEST(AdamW, TenUpdatesAreTheReference) {
    for (const std::int64_t count : {1, 37, 129, 20011}) {
        Data data{count};
        std::vector<reference::AdamWState> states;
        for (const float weight : data.master) {
            states.push_back({.weight = weight});
        }

        for (int t = 1; t <= 10; ++t) {
            data.update(t, inputs_of(t));
            const auto gradient = data.gradient_of(t);
            for (std::size_t i = 0; i < states.size(); ++i) {
                states[i] = reference::adamw(states[i], gradient[i], t, double(0.01f), adamw.beta1,
                                             adamw.beta2, adamw.epsilon, double(weight_decay));
            }
        }

        for (std::size_t i = 0; i < states.size(); ++i) {
            ASSERT_NEAR(data.master[i], states[i].weight, 2e-6);
            ASSERT_NEAR(data.m[i], states[i].m, 1e-6);
            ASSERT_NEAR(data.v[i], states[i].v, 1e-6);
            ASSERT_EQ(data.parameters[i], bfloat16(data.master[i]));
        }
    }
}

/// Returns |ours - reference| / |reference| over all elements.
double gap(const std::vector<float>& ours,
           const std::vector<reference::AdamWState>& states,
           double reference::AdamWState::*of) {
    double difference = 0, whole = 0;
    for (std::size_t i = 0; i < states.size(); ++i) {
        difference += std::pow(double(ours[i]) - states[i].*of, 2);
        whole += std::pow(states[i].*of, 2);
    }
    return std::sqrt(difference / whole);
}

TEST(AdamW, MomentsKeepTheirDigitsForBetasNearOne) {
    for (const double beta2 : {0.99, 0.999, 0.9999, 0.99999, 0.999999}) {
        for (const double beta1 : {0.9, 0.999}) {
            const AdamW slow{.beta1 = beta1, .beta2 = beta2, .epsilon = 1e-8};
            Data data{1001};
            std::vector<reference::AdamWState> states;
            for (const float weight : data.master) {
                states.push_back({.weight = weight});
            }
            for (int t = 1; t <= 20; ++t) {
                const auto gradient = data.gradient_of(t);
                adamw_update<float, float>(test_stream(), slow, weight_decay, 1, at(inputs_of(t, slow)),
                                           data.master, gradient, data.m, data.v, {});
                for (std::size_t i = 0; i < states.size(); ++i) {
                    states[i] = reference::adamw(states[i], gradient[i], t, double(0.01f), beta1, beta2,
                                                 slow.epsilon, double(weight_decay));
                }
            }
            EXPECT_LE(gap(data.m, states, &reference::AdamWState::m), 5e-7) << beta1;
            EXPECT_LE(gap(data.v, states, &reference::AdamWState::v), 5e-7) << beta2;
            EXPECT_LE(gap(data.master, states, &reference::AdamWState::weight), 5e-7)
                << beta1 << " " << beta2;
        }
    }
}

TEST(AdamW, FirstUpdateMovesEveryWeightByTheLearningRate) {
    std::vector<float> master(37, 0.0f), m(37), v(37);
    auto gradient = normal_values<float>(37, 1);
    adamw_update<float, float>(test_stream(), adamw, 0, 1, at(inputs_of(1)), master, gradient, m, v, {});

    for (std::size_t i = 0; i < master.size(); ++i) {
        EXPECT_NEAR(master[i], gradient[i] > 0 ? -0.01 : 0.01, 1e-7);
    }
}

TEST(AdamW, DecaysWithoutAGradientAndScalesByItsFactor) {
    std::vector<float> master(37, 2.0f), gradient(37), m(37), v(37);
    adamw_update<float, float>(test_stream(), adamw, weight_decay, 0.5f, at(inputs_of(1)), master, gradient,
                               m, v, {});

    EXPECT_NEAR(master[36], 2 - 2 * 0.5 * 0.01 * 0.1, 1e-6);
    EXPECT_EQ(m[36], 0);
    EXPECT_EQ(v[36], 0);
}

TEST(AdamW, MultipliesTheGradientByTheClipFactor) {
    Data clipped{129};
    Data scaled{129};
    auto inputs = inputs_of(1);
    auto gradient = scaled.gradient_of(1);
    for (auto& g : gradient) {
        g *= 0.25f;
    }
    adamw_update<bfloat16, float>(test_stream(), adamw, weight_decay, 1, at(inputs), scaled.master, gradient,
                                  scaled.m, scaled.v, scaled.parameters);
    inputs.gradient_scale = 0.25f;
    clipped.update(1, inputs);

    EXPECT_TRUE(same_bits(clipped.master, scaled.master));
    EXPECT_TRUE(same_bits(clipped.v, scaled.v));
}

TEST(AdamW, ASkippedStepPublishesTheMasterAsItIsEvenWithNotANumber) {
    Data data{129};
    Data untouched{129};
    std::ranges::fill(data.parameters, bfloat16{std::nanf("")});
    auto inputs = inputs_of(1);
    inputs.skip = 1;
    const std::vector<float> gradient(129, std::nanf(""));
    adamw_update<bfloat16, float>(test_stream(), adamw, weight_decay, 1, at(inputs), data.master, gradient,
                                  data.m, data.v, data.parameters);

    EXPECT_TRUE(same_bits(data.master, untouched.master));
    EXPECT_TRUE(same_bits(data.m, untouched.m));
    for (std::size_t i = 0; i < data.master.size(); ++i) {
        EXPECT_EQ(float(data.parameters[i]), float(bfloat16{untouched.master[i]}));
    }
}

TEST(AdamW, HasTheSameBitsForAnyCutIntoSpansAndOnOneThread) {
    constexpr std::size_t count = 20011;
    Data whole{count};
    Data cut{count};
    Data one{count};
    const auto gradient = whole.gradient_of(1);
    for (int t = 1; t <= 3; ++t) {
        whole.update(1, inputs_of(t));
        on_one_thread([&](const device::Stream& stream) { one.update(1, inputs_of(t), stream); });
        for (std::size_t begin = 0, end = 0; begin < count; begin = end) {
            end = std::min(count, begin + 1 + begin * 3 / 2);
            const auto part = [&](auto& values) { return std::span{values}.subspan(begin, end - begin); };
            adamw_update<bfloat16, float>(test_stream(), adamw, weight_decay, 1, at(inputs_of(t)),
                                          part(cut.master), part(gradient), part(cut.m), part(cut.v),
                                          part(cut.parameters));
        }
    }

    EXPECT_TRUE(same_bits(cut.master, whole.master));
    EXPECT_TRUE(same_bits(cut.v, whole.v));
    EXPECT_TRUE(same_bits(cut.parameters, whole.parameters));
    EXPECT_TRUE(same_bits(one.master, whole.master));
}

TEST(AdamW, PublishingChangesNoBitOfTheMaster) {
    Data published{129};
    Data plain{129};
    published.update(1, inputs_of(1));
    adamw_update<float, float>(test_stream(), adamw, weight_decay, 1, at(inputs_of(1)), plain.master,
                               plain.gradient_of(1), plain.m, plain.v, {});

    EXPECT_TRUE(same_bits(published.master, plain.master));
}

TEST(AdamW, TakesBfloat16GradientsAsTheirFloats) {
    const auto narrow = normal_values<bfloat16>(20011, 5);
    std::vector<float> wide(narrow.size());
    std::ranges::transform(narrow, wide.begin(), [](bfloat16 value) { return float(value); });
    Data of_narrow{20011};
    Data of_wide{20011};
    adamw_update<bfloat16, bfloat16>(test_stream(), adamw, weight_decay, 1, at(inputs_of(1)),
                                     of_narrow.master, narrow, of_narrow.m, of_narrow.v,
                                     of_narrow.parameters);
    adamw_update<bfloat16, float>(test_stream(), adamw, weight_decay, 1, at(inputs_of(1)), of_wide.master,
                                  wide, of_wide.m, of_wide.v, of_wide.parameters);
    EXPECT_TRUE(same_bits(of_narrow.master, of_wide.master));
    EXPECT_TRUE(same_bits(of_narrow.v, of_wide.v));
    EXPECT_TRUE(same_bits(of_narrow.parameters, of_wide.parameters));

    Data alone{20011};
    adamw_update<float, bfloat16>(test_stream(), adamw, weight_decay, 1, at(inputs_of(1)), alone.master,
                                  narrow, alone.m, alone.v, {});
    EXPECT_TRUE(same_bits(alone.master, of_wide.master));
}

TEST(AdamW, RefusesLengthsThatDisagree) {
    Data data{37};
    data.m.pop_back();
    EXPECT_THROW(data.update(1, inputs_of(1)), Error);
}

TEST(AdamW, AveragesWeightsByTheFactorsOfTheStep) {
    const test::TestStream made = test_stream();
    const device::Stream& stream = made;
    for (const std::int64_t count : {1, 37, 129, 20011}) {
        const auto weights = normal_values<float>(count, 1);
        const auto before = normal_values<float>(count, 2);
        auto average = before;
        StepInputs inputs{.average_keep = 0.75f, .average_take = 0.25f};
        average_weights(stream, at(inputs), weights, average);
        stream.finish();
        for (std::size_t i = 0; i < average.size(); ++i) {
            EXPECT_EQ(average[i], std::fma(0.75f, before[i], 0.25f * weights[i]));
        }
        const auto kept = average;
        inputs.skip = 1;
        average_weights(stream, at(inputs), weights, average);
        stream.finish();
        EXPECT_EQ(average, kept) << "no update, no change";
        const StepInputs copies;
        average_weights(stream, at(copies), weights, average);
        stream.finish();
        EXPECT_EQ(average, weights) << "before the average begins, it is a copy, to the last bit";
    }
}

TEST(AdamW, RejectsAnAverageOfAnotherLength) {
    const StepInputs inputs;
    const std::vector<float> weights(3);
    std::vector<float> average(2);
    EXPECT_THROW(average_weights(test_stream(), at(inputs), weights, average), Error);
}

/// Result of an update, with its sums.
struct Summed {
    Data data;
    ExactSum weights{}, changes{};
};

Summed summed_update(std::int64_t count, const StepInputs& inputs, const device::Stream& stream) {
    Summed made{.data = Data{count}};
    const auto gradient = made.data.gradient_of(1);
    adamw_update_with_norms<bfloat16, float>(stream, adamw, weight_decay, 1, at(inputs), made.data.master,
                                             gradient, made.data.m, made.data.v, made.data.parameters,
                                             &made.weights, &made.changes);
    stream.finish();
    return made;
}

StepInputs summing_inputs(int t) {
    auto inputs = inputs_of(t);
    inputs.sums_norms = 1;
    return inputs;
}

TEST(AdamWWithNorms, HasTheBitsOfTheUpdate) {
    for (const std::int64_t count : {1, 255, 256, 777, 20011}) {
        for (const std::int32_t sums : {0, 1}) {
            auto inputs = summing_inputs(1);
            inputs.sums_norms = sums;
            Data expected{count};
            expected.update(1, inputs_of(1));
            const auto ours = summed_update(count, inputs, test_stream());
            EXPECT_EQ(ours.data.master, expected.master);
            EXPECT_EQ(ours.data.m, expected.m);
            EXPECT_EQ(ours.data.v, expected.v);
            EXPECT_EQ(ours.data.parameters, expected.parameters);
        }
    }
}

TEST(AdamWWithNorms, SumsSquaresOfWeightsAndOfTheirChanges) {
    for (const std::int64_t count : {1, 255, 256, 777, 20011}) {
        const Data before{count};
        const auto ours = summed_update(count, summing_inputs(1), test_stream());
        std::vector<float> changes(before.master.size());
        for (std::size_t i = 0; i < changes.size(); ++i) {
            changes[i] = ours.data.master[i] - before.master[i];
        }
        ExactSum of_weights, of_changes;
        sum_of_squares<float>(test_stream(), ours.data.master, &of_weights);
        sum_of_squares<float>(test_stream(), changes, &of_changes);
        EXPECT_EQ(ours.weights.limbs(), of_weights.limbs()) << count;
        EXPECT_EQ(ours.changes.limbs(), of_changes.limbs()) << count;
        EXPECT_GT(ours.changes.value(), 0);
    }
}

TEST(AdamWWithNorms, SumsNothingUnlessAskedTo) {
    const auto ours = summed_update(1000, inputs_of(1), test_stream());
    EXPECT_EQ(ours.weights.value(), 0);
    EXPECT_EQ(ours.changes.value(), 0);
}

TEST(AdamWWithNorms, HasNoChangesIfTheStepIsSkipped) {
    auto inputs = summing_inputs(1);
    inputs.skip = 1;
    const Data before{1000};
    const auto ours = summed_update(1000, inputs, test_stream());
    EXPECT_EQ(ours.data.master, before.master);
    EXPECT_EQ(ours.changes.value(), 0);
    ExactSum of_weights;
    sum_of_squares<float>(test_stream(), before.master, &of_weights);
    EXPECT_EQ(ours.weights.limbs(), of_weights.limbs());
    EXPECT_EQ(ours.data.parameters[999], bfloat16(before.master[999]));
}

TEST(AdamWWithNorms, HasTheSameSumsOnOneThread) {
    const auto all = summed_update(20011, summing_inputs(1), test_stream());
    on_one_thread([&](const device::Stream& stream) {
        const auto one = summed_update(20011, summing_inputs(1), stream);
        EXPECT_EQ(one.weights.limbs(), all.weights.limbs());
        EXPECT_EQ(one.changes.limbs(), all.changes.limbs());
    });
}

}  // namespace
}  // namespace ziggurat::kernels
