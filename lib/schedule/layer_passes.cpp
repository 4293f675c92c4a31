#include "schedule/layer_passes.hpp"

#include <tuple>

namespace ziggurat::schedule {

std::vector<LayerPass> layer_passes(const Program& program) {
    std::vector<LayerPass> passes;
    std::tuple<int, int, bool> in_flight{-1, -1, false};
    for (OpId index = 0; index < program.ops.end_id(); ++index) {
        const auto& op = program.ops[index];
        if (op.kind != OpKind::compute) {
            continue;
        }
        const std::tuple pass{op.unit, op.microbatch, op.direction == Direction::forward};
        if (op.unit >= 1 && op.unit <= program.layers) {
            if (pass != in_flight) {
                passes.push_back({.first = index, .is_forward = std::get<bool>(pass)});
            }
            passes.back().last = index;
        }
        in_flight = pass;
    }
    return passes;
}

}  // namespace ziggurat::schedule
