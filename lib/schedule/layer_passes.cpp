#include "schedule/layer_passes.hpp"

#include <set>
#include <tuple>
#include <utility>

namespace ziggurat::schedule {
namespace {

enum class Half { forward, backward, weights };

Half half_of(const Op& op) {
    return op.direction == Direction::forward ? Half::forward
           : op.is_deferred                   ? Half::weights
                                              : Half::backward;
}

}  // namespace

std::vector<LayerPass> layer_passes(const Program& program) {
    std::set<std::pair<int, int>> halved;  // unit, micro-batch
    for (const auto& op : program.ops) {
        if (op.is_deferred) {
            halved.insert({op.unit, op.microbatch});
        }
    }
    std::vector<LayerPass> passes;
    std::tuple<int, int, Half> in_flight{-1, -1, Half::forward};
    for (OpId index = 0; index < program.ops.end_id(); ++index) {
        const auto& op = program.ops[index];
        if (op.kind != OpKind::compute) {
            continue;
        }
        const auto half = half_of(op);
        const std::tuple pass{op.unit, op.microbatch, half};
        if (op.unit >= 1 && op.unit <= program.layers) {
            if (pass != in_flight) {
                const bool is_whole = half == Half::backward && !halved.contains({op.unit, op.microbatch});
                passes.push_back({.first = index, .forwards = is_whole ? 2 : 1});
            }
            passes.back().last = index;
        }
        in_flight = pass;
    }
    return passes;
}

}  // namespace ziggurat::schedule
