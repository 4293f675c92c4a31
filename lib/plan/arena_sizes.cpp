#include "plan/arena_sizes.hpp"

#include <algorithm>
#include <cstddef>

namespace ziggurat::plan {

ArenaSizes arena_sizes(const schedule::Program& program, const std::vector<schedule::LiveRange>& ranges) {
    ArenaSizes sizes;
    std::array<std::vector<std::int64_t>, schedule::num_arenas> change;
    for (auto& of_arena : change) {
        of_arena.resize(program.ops.size() + 1);
    }
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
        const auto& buffer = program.buffers[b];
        const auto arena = schedule::arena_of(buffer);
        if (buffer.lifetime != schedule::Lifetime::transient) {
            sizes.fixed[arena] += buffer.bytes;
            sizes.end[arena] = std::max(sizes.end[arena], buffer.offset + buffer.bytes);
        } else if (ranges[b].first >= 0) {
            change[arena][ranges[b].first] += buffer.bytes;
            change[arena][ranges[b].last + 1] -= buffer.bytes;
        }
    }
    for (std::size_t a = 0; a < change.size(); ++a) {
        std::int64_t now = 0;
        for (const auto by : change[a]) {
            now += by;
            sizes.peak[a] = std::max(sizes.peak[a], now);
        }
    }
    return sizes;
}

}  // namespace ziggurat::plan
