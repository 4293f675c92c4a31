#include "train/step/batch_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.hpp"
#include "device/device.hpp"
#include "schedule/build_program.hpp"
#include "tests/unit/schedule/small_spec.hpp"

namespace ziggurat::train {
namespace {

using schedule::Variant;

TEST(BatchSlots, AreMemoryOfTheHost) {
    const auto program = schedule::build_program(test::small_spec("llama"), 0, Variant::train);
    const auto host = device::make_host(1);
    const state::TierMemory memory{{&program}, 1, *host};

    const auto slots = batch_slots(program, memory);

    ASSERT_EQ(slots.size(), 2U);
    const auto& tokens = program.buffer(program.trainer_buffers.of(schedule::BatchTensor::tokens, 1));
    EXPECT_EQ(tokens.tier, spec::Tier::host);
    EXPECT_EQ(reinterpret_cast<std::byte*>(slots[1].tokens.data()), memory.at(tokens));
    EXPECT_EQ(slots[1].tokens.size(), 32U);
}

// Buffers that host code accesses in place are on the host; read() and write() access the others.
TEST(TierMemory, LendsNoMemoryOfTheDeviceTier) {
    const auto program = schedule::build_program(test::small_spec("llama"), 0, Variant::train);
    const auto host = device::make_host(1);
    const state::TierMemory memory{{&program}, 1, *host};

    for (const auto& buffer : program.buffers) {
        if (buffer.offset < 0) {
            continue;
        }
        if (buffer.tier == spec::Tier::host) {
            EXPECT_NO_THROW(memory.span<std::byte>(buffer)) << buffer.name;
        } else {
            EXPECT_THROW(memory.span<std::byte>(buffer), Error) << buffer.name;
        }
    }
}

}  // namespace
}  // namespace ziggurat::train
