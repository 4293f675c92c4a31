#include "model/binder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "device/cuda.hpp"
#include "device/discovery.hpp"
#include "schedule/build_program.hpp"
#include "schedule/model_layout.hpp"
#include "tensor/bfloat16.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_coverage.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::model {
namespace {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;
using schedule::Role;
using schedule::Variant;

/// Binds all compute ops. No kernel runs, so arenas have no bytes.
template <class T>
void bind_all(const spec::RunSpec& spec, const schedule::ModelLayout& model, const Program& program) {
    static std::array<std::byte, 64> nowhere{};
    Arenas arenas;
    arenas.fill(nowhere.data());
    Binder<T> binder{spec, model.table, model.tensor_position(), model.context_rank, device::Stream{1}};
    for (const auto& op : program.ops) {
        if (op.kind == OpKind::compute || op.kind == OpKind::loss) {
            binder.bind(program, op, arenas);
        }
    }
}

void bind_all(const spec::RunSpec& spec, const schedule::ModelLayout& model, const Program& program) {
    if (spec.precision.compute == spec::DType::f32) {
        bind_all<float>(spec, model, program);
    } else {
        bind_all<tensor::bfloat16>(spec, model, program);
    }
}

spec::RunSpec spec_of(std::uint64_t seed) {
    auto spec = test::random_spec(seed, {.max_ranks = 4, .lora = seed % 4 == 3});
    spec.parallel.threads = 1;
    return spec;
}

TEST(Binder, GivesKernelsAllOperandsOfOpsAndNoOthers) {
    int tried = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const auto spec = spec_of(seed);
        if (spec.parallel.tensor > 1) {
            continue;
        }
        ++tried;
        const schedule::ModelLayout model{spec, spec.parallel.ranks - 1};
        for (const auto variant : {Variant::train, Variant::evaluate}) {
            const auto program = schedule::build_program(spec, model, variant);
            EXPECT_NO_THROW(bind_all(spec, model, program)) << test::described(spec);
        }
    }
    EXPECT_GT(tried, 20);
}

class BinderOfAProgram : public testing::Test {
  protected:
    spec::RunSpec spec = spec_of(0);
    schedule::ModelLayout model{spec, 0};
    Program program = schedule::build_program(spec, model, Variant::train);

    Op& first_forward() {
        return *std::ranges::find_if(program.ops, [](const Op& op) {
            return op.kind == OpKind::compute && op.direction == schedule::Direction::forward;
        });
    }
    std::string mismatch() {
        try {
            bind_all(spec, model, program);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
};

TEST_F(BinderOfAProgram, RefusesAnOperandThatNoKernelTakes) {
    schedule::Buffer buffer;
    buffer.bytes = 64;
    buffer.offset = 0;
    const int added = program.add_buffer(buffer);
    first_forward().reads.push_back(whole(program, added, Role::branch));

    EXPECT_NE(mismatch().find("operand 'branch' is not used by"), std::string::npos) << mismatch();
}

TEST_F(BinderOfAProgram, RefusesAnOpWithoutAnOperandThatItsKernelTakes) {
    std::erase_if(first_forward().writes,
                  [](const schedule::Operand& operand) { return operand.role == Role::output; });

    EXPECT_NE(mismatch().find("operand 'output' is missing"), std::string::npos) << mismatch();
}

/// Returns the kernels of attention for a training on a GPU.
kernels::AttentionOps attention_on_gpu(spec::RunSpec spec) {
    kernels::AttentionOps ops{};
    if constexpr (device::has_cuda) {
        spec.tiers.device = spec::DeviceKind::cuda;
        const schedule::ModelLayout model{spec, 0};
        const auto program = schedule::build_program(spec, model, Variant::train);
        static std::array<std::byte, 64> nowhere{};
        Arenas arenas;
        arenas.fill(nowhere.data());
        const auto gpu = device::cuda::make_device(0, nullptr);
        Binder<tensor::bfloat16> binder{spec, model.table, {}, 0, gpu->make_stream()};
        for (const auto& op : program.ops) {
            if (op.kind == OpKind::compute || op.kind == OpKind::loss) {
                binder.bind(program, op, arenas);
            }
        }
        ops = binder.attention_ops();
    }
    return ops;
}

class BinderOnGpu : public testing::Test {
  protected:
    void SetUp() override {
        if (device::discover().count == 0) {
            GTEST_SKIP() << "there is no GPU";
        }
        spec.precision.compute = spec::DType::bf16;
        spec.data.seq = 128;
        spec.model.max_seq = 128;
    }
    /// Checks the number of ops by kernel: host, CUDA cores, tensor cores, cuDNN.
    void expect(const kernels::AttentionOps& expected) const {
        EXPECT_EQ(attention_on_gpu(spec), expected) << kernels::names_of(attention_on_gpu(spec));
    }

    spec::RunSpec spec = test::small_spec("llama");
    const std::int64_t ops = 2 * spec.model.layers * spec.train.global_batch / spec.train.micro_batch;
};

TEST_F(BinderOnGpu, AttendsByCudnnWhereNoDocumentEndsInASequence) {
    expect({0, 0, 0, ops});
}

TEST_F(BinderOnGpu, AttendsOnTensorCoresWithinDocuments) {
    spec.data.reset_at_document = true;
    expect({0, 0, ops, 0});
}

TEST_F(BinderOnGpu, AttendsOnTensorCoresInSequencesThatAreNoWholeTiles) {
    spec.data.seq = spec.model.max_seq = 96;
    expect({0, 0, ops, 0});
}

TEST_F(BinderOnGpu, AttendsWithoutTensorCoresWithDropout) {
    spec.model.dropout = 0.1;
    expect({0, ops, 0, 0});
}

}  // namespace
}  // namespace ziggurat::model
