#include "train/step/batch_slots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

TEST(BatchSlots, StartWindowsInsideTheDocument) {
    auto run = test::small_spec("mistral");
    run.data.seq = 8;
    run.model.window = 3;
    const auto program = schedule::build_program(run, 0, Variant::train);
    const auto host = device::make_host(1);
    const state::TierMemory memory{{&program}, 1, *host};
    const auto slots = batch_slots(program, memory);
    const std::vector<std::int32_t> documents{0, 0, 0, 0, 4, 4, 4, 4, /**/ 0, 1, 1, 1, 1, 1, 1, 1};
    for (const auto& slot : slots) {
        ASSERT_EQ(slot.window_starts.size(), documents.size());
        std::ranges::copy(documents, slot.document_starts.begin());
    }
    const auto starts = [&](bool resets) {
        run.data.reset_at_document = resets;
        fill_window_starts(slots, run);
        EXPECT_TRUE(std::ranges::equal(slots[0].window_starts, slots[1].window_starts));
        return std::vector<std::int32_t>(slots[1].window_starts.begin(), slots[1].window_starts.end());
    };

    EXPECT_EQ(starts(true), (std::vector<std::int32_t>{0, 0, 0, 1, 4, 4, 4, 5, /**/ 0, 1, 1, 1, 2, 3, 4, 5}));
    EXPECT_EQ(starts(false),
              (std::vector<std::int32_t>{0, 0, 0, 1, 2, 3, 4, 5, /**/ 0, 0, 0, 1, 2, 3, 4, 5}));
}

TEST(BatchSlots, HaveNoWindowsThatSequencesDoNotReach) {
    auto run = test::small_spec("mistral");
    run.model.window = run.data.seq;
    const auto program = schedule::build_program(run, 0, Variant::train);
    const auto host = device::make_host(1);
    const state::TierMemory memory{{&program}, 1, *host};

    EXPECT_TRUE(batch_slots(program, memory).front().window_starts.empty());
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
