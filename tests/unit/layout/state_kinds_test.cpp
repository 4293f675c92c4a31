#include "layout/state_kinds.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ziggurat::layout {
namespace {

std::int64_t bytes_per_parameter(const spec::RunSpec& spec) {
    std::int64_t bytes = 0;
    for (const auto& row : state_kinds(spec)) {
        bytes += row.bytes_per_parameter();
    }
    return bytes;
}

TEST(StateKinds, TakeSixteenBytesPerParameterInF32AndEighteenInBf16) {
    spec::RunSpec spec;
    EXPECT_EQ(bytes_per_parameter(spec), 16);

    spec.precision.compute = spec::DType::bf16;
    EXPECT_EQ(bytes_per_parameter(spec), 18);
}

TEST(StateKinds, SaveTheMasterOnceWhateverTheComputeType) {
    for (const auto type : {spec::DType::f32, spec::DType::bf16}) {
        spec::RunSpec spec;
        spec.precision.compute = type;

        std::string saved;
        for (const auto& row : state_kinds(spec)) {
            saved += row.is_saved ? std::string{row.name} + " " : "";
        }

        EXPECT_EQ(saved, type == spec::DType::f32 ? "parameters first_moment second_moment "
                                                  : "master first_moment second_moment ");
    }
}

TEST(StateKinds, SaveFrozenParametersAsTheyAre) {
    spec::RunSpec spec;
    spec.model.hidden = 8;
    spec.model.layers = 1;
    spec.model.vocab = 5;
    spec.precision.compute = spec::DType::bf16;
    spec.train.only = {"final_norm.*"};

    int frozen = 0;
    for (const auto& row : state_kinds(spec)) {
        if (row.of_frozen) {
            ++frozen;
            EXPECT_TRUE(row.is_saved);
            EXPECT_EQ(row.bytes_per_parameter(), 2);
            EXPECT_EQ(row.span, SpanOf::parameters);
        }
    }

    EXPECT_EQ(frozen, 1);
}

TEST(StateKinds, AreCutOverTheirOwnSpan) {
    spec::Sharding sharding;
    sharding.parameters = 2;
    sharding.gradients = 4;
    sharding.optimizer = 8;
    std::vector<int> spans;

    for (const auto& row : state_kinds({})) {
        spans.push_back(span_of(row, sharding));
    }

    EXPECT_EQ(spans, (std::vector<int>{2, 4, 8, 8}));
}

}  // namespace
}  // namespace ziggurat::layout
