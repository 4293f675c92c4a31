#include "train/step/batch_slots.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ziggurat::train {
namespace {

BatchSlot slot_of(const schedule::Program& program, const state::TierMemory& memory, int microbatch) {
    const auto ints = [&](const char* name) {
        return memory.span<std::int32_t>(input_buffer(program, name, microbatch));
    };
    BatchSlot slot;
    slot.tokens = ints("tokens");
    slot.targets = ints("targets");
    slot.positions = ints("positions");
    slot.document_starts = ints("document_starts");
    slot.mask = memory.span<std::uint8_t>(input_buffer(program, "mask", microbatch));
    slot.samples = memory.span<std::int64_t>(input_buffer(program, "samples", microbatch));
    slot.losses = memory.span<float>(input_buffer(program, "losses", microbatch));
    return slot;
}

}  // namespace

const schedule::Buffer& input_buffer(const schedule::Program& program,
                                     const std::string& name,
                                     int microbatch) {
    const auto at = std::ranges::find_if(program.buffers, [&](const auto& buffer) {
        return buffer.name == name && buffer.microbatch == microbatch;
    });
    ZG_EXPECTS(at != program.buffers.end());
    return *at;
}

std::vector<BatchSlot> batch_slots(const schedule::Program& program, const state::TierMemory& memory) {
    std::vector<BatchSlot> slots;
    for (int m = 0; m < program.microbatches; ++m) {
        slots.push_back(slot_of(program, memory, m));
    }
    return slots;
}

}  // namespace ziggurat::train
