#include "schedule/passes/saved_for_backward.hpp"

#include <algorithm>
#include <utility>

namespace ziggurat::schedule {
namespace {

bool is_forward(const Op& op) {
    return op.direction == Direction::forward || op.direction == Direction::none;
}

}  // namespace

std::vector<Kept> saved_for_backward(const Program& program) {
    std::vector<Kept> of_buffer(program.buffers.size());
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        const auto& op = program.ops[i];
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                auto& kept = of_buffer[operand.buffer];
                kept.buffer = operand.buffer;
                if (kept.first_backward < 0 && is_forward(op)) {
                    kept.last_forward = i;
                    if (kept.produced < 0 || operands == &op.writes) {
                        kept.produced = op.kind == OpKind::receive ? OpId{} : i;
                    }
                } else if (kept.first_backward < 0) {
                    kept.first_backward = i;
                }
            }
        }
    }
    std::erase_if(of_buffer, [&](const Kept& kept) {
        return kept.last_forward < 0 || kept.first_backward < 0 ||
               program.buffers[kept.buffer].consumer != MemoryCategory::activations;
    });
    std::sort(of_buffer.begin(), of_buffer.end(), [](const Kept& a, const Kept& b) {
        return std::pair{a.last_forward, a.buffer} < std::pair{b.last_forward, b.buffer};
    });
    return of_buffer;
}

}  // namespace ziggurat::schedule
