#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "base/enumerators.hpp"
#include "schedule/build_program.hpp"
#include "schedule/step_program.hpp"
#include "tests/support/random/random_spec.hpp"
#include "tests/support/random/spec_variants.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::schedule {
namespace {

template <class E>
class Names : public testing::Test {};

using Enums = testing::Types<OpKind, Direction, Purpose, Engine, Lifetime, MemoryCategory, BatchTensor, Role>;
TYPED_TEST_SUITE(Names, Enums);

TYPED_TEST(Names, TellEnumeratorsApart) {
    std::set<std::string> names;
    for (int i = 0; i < num_enumerators<TypeParam>(); ++i) {
        EXPECT_TRUE(names.insert(to_string(static_cast<TypeParam>(i))).second) << i;
    }
    EXPECT_GT(names.size(), 2U);
}

/// Typed names that programs use.
struct Used {
    std::set<OpKind> kinds;
    std::set<Direction> directions;
    std::set<Purpose> purposes;
    std::set<Engine> engines;
    std::set<MemoryCategory> consumers;
    std::set<Role> roles;

    void add(const Program& program) {
        for (const auto& op : program.ops) {
            kinds.insert(op.kind);
            directions.insert(op.direction);
            purposes.insert(op.purpose);
            engines.insert(program.lanes[static_cast<std::size_t>(op.lane)].engine);
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    roles.insert(operand.role);
                    consumers.insert(program.buffer(operand.buffer).consumer);
                }
            }
        }
        for (const auto& buffer : program.buffers) {
            consumers.insert(buffer.consumer);
        }
    }
};

/// Returns the names of the enumerators that are not in `used`.
template <class E>
std::set<std::string> unused(const std::set<E>& used) {
    std::set<std::string> names;
    for (int i = 0; i < num_enumerators<E>(); ++i) {
        if (!used.contains(static_cast<E>(i))) {
            names.insert(to_string(static_cast<E>(i)));
        }
    }
    return names;
}

using Texts = std::set<std::string>;

TEST(TypedNames, AreAllInUse) {
    Used used;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto spec = test::random_spec(seed, {.lora = seed % 10 == 3});
        if (seed % 2 == 0) {
            spec.checkpoint.every = spec::Interval{.steps = 1};
            spec.checkpoint.is_async = true;
        }
        for (const auto variant : {Variant::train, Variant::evaluate}) {
            used.add(build_program(spec, static_cast<int>(seed) % spec.parallel.ranks, variant));
        }
        spec.validate.sample = spec::Sample{.prompt = "x", .tokens = 1};
        used.add(
            build_cached_program(spec, static_cast<int>(seed) % spec.parallel.ranks, CachedKind::logits));
    }

    auto on_gpus = test::small_spec("gpt2");
    on_gpus.tiers.device = spec::DeviceKind::cuda;
    on_gpus.precision.compute = spec::DType::bf16;
    used.add(build_program(on_gpus, 0, Variant::train));
    used.add(build_program(test::pipedream_spec(2, 2), 0, Variant::train));
    const auto adapters_on_a_grid = test::with_grid(test::random_spec(3, {.lora = true}), 2, 64);
    used.add(build_program(adapters_on_a_grid, 0, Variant::train));

    EXPECT_EQ(unused(used.kinds), Texts{});
    EXPECT_EQ(unused(used.directions), Texts{});
    EXPECT_EQ(unused(used.purposes), Texts{});
    EXPECT_EQ(unused(used.engines), Texts{});
    EXPECT_EQ(unused(used.roles), Texts{});
    // Every buffer has a row of the memory table. The row of validation has no buffer.
    EXPECT_EQ(unused(used.consumers), (Texts{"", "validation"}));
}

TEST(TypedNames, EveryTensorOfAMicrobatchIsInUse) {
    std::set<BatchTensor> used;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        auto spec = test::random_spec(seed);
        spec.validate.sample = spec::Sample{.prompt = "x", .tokens = 1};
        for (int each = 0; each < 2 * spec.parallel.ranks; ++each) {
            const int rank = each / 2;
            const auto program = each % 2 == 0 ? build_program(spec, rank, Variant::train)
                                               : build_cached_program(spec, rank, CachedKind::prompt);
            for (int b = 0; b < num_batch_tensors; ++b) {
                const auto tensor = static_cast<BatchTensor>(b);
                for (const auto& op : program.ops) {
                    const auto* read = program.find_read(op, role_of(tensor));
                    if (read != nullptr &&
                        read->buffer == program.trainer_buffers.of(tensor, std::max(op.microbatch, 0))) {
                        used.insert(tensor);
                    }
                }
            }
        }
    }

    EXPECT_EQ(unused(used), Texts{});
}

}  // namespace
}  // namespace ziggurat::schedule
