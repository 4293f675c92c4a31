#include "train/account/step_fields.hpp"

#include <algorithm>

namespace ziggurat::train {

bool holds_more_than_control(const schedule::Program& program) {
    return std::ranges::any_of(program.buffers, [](const schedule::Buffer& buffer) {
        return buffer.tier == spec::Tier::host && buffer.consumer != schedule::MemoryCategory::batch &&
               buffer.bytes > 0;
    });
}

}  // namespace ziggurat::train
