#include "schedule/place/lane_independence.hpp"

#include <algorithm>
#include <vector>

namespace ziggurat::schedule {
namespace {

bool meet(const Program& program, const std::vector<Operand>& some, const std::vector<Operand>& others) {
    return std::ranges::any_of(some, [&](const Operand& one) {
        const auto& in = program.buffers[one.buffer];
        return std::ranges::any_of(others, [&](const Operand& other) {
            const auto& other_in = program.buffers[other.buffer];
            if (arena_of(in) != arena_of(other_in)) {
                return false;
            }
            return std::ranges::any_of(one.runs, [&](const ByteRange& run) {
                const auto begin = in.offset + run.offset;
                return std::ranges::any_of(other.runs, [&](const ByteRange& of_other) {
                    const auto other_begin = other_in.offset + of_other.offset;
                    return begin < other_begin + of_other.bytes && other_begin < begin + run.bytes;
                });
            });
        });
    });
}

}  // namespace

int independent_ops_before(const Program& program, const Op& op) {
    int before = 0;
    for (const Op* other = &op; other != program.ops.data() && before < max_in_flight - 1;) {
        --other;
        if (other->lane != op.lane) {
            continue;
        }
        if (meet(program, op.writes, other->writes) || meet(program, op.writes, other->reads) ||
            meet(program, op.reads, other->writes)) {
            break;
        }
        ++before;
    }
    return before;
}

}  // namespace ziggurat::schedule
