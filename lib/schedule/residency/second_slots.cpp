#include "schedule/residency/second_slots.hpp"

#include <utility>

namespace ziggurat::schedule {

void add_second_slots(Program& program, const Residencies& found) {
    for (const auto& parts : found.parts) {
        for (const auto& part : parts) {
            const auto& first = program.buffers[part.buffer];
            if (part.tier != spec::Tier::nvme || first.lifetime != Lifetime::persistent ||
                !is_optimizer_state(first.state) || layout::is_of_frozen(first.state)) {
                continue;
            }
            Buffer second;
            second.name = first.name + " second slot";
            second.tier = spec::Tier::nvme;
            second.bytes = first.bytes;
            second.lifetime = Lifetime::persistent;
            second.consumer = MemoryCategory::undo;
            second.type = first.type;
            const auto added = program.add_buffer(std::move(second));
            program.buffers[part.buffer].second_slot = added;
        }
    }
}

}  // namespace ziggurat::schedule
