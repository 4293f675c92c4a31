#include "schedule/residency/unit_passes.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace ziggurat::schedule {

UnitPass unit_pass_of(const Program& program, int index) {
    const auto& op = program.ops[index];
    if (op.kind == OpKind::compute || op.kind == OpKind::loss) {
        const bool is_forward = op.direction == Direction::forward || op.direction == Direction::none;
        if (program.is_by_layer && op.segment < 0) {
            const bool is_head = op.unit > program.layers;
            return {op.unit, -1, is_forward || is_head ? 0 : 1, -1};
        }
        return {op.unit, op.microbatch, is_forward ? 0 : 1, op.segment};
    }
    return {-1, index, 0, -1};
}

UnitPasses::UnitPasses(const Program& program) {
    std::tuple<int, int, int> last;
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        const auto& op = program.ops[i];
        const std::tuple now{op.unit, op.microbatch, op.segment};
        if (op.kind == OpKind::compute && (begins_.empty() || now != last)) {
            last = now;
            begins_.push_back(i);
        }
    }
}

UnitPasses UnitPasses::for_state(const Program& program) {
    if (!program.is_by_layer) {
        return UnitPasses{program};
    }
    UnitPasses made;
    std::set<UnitPass> begun;
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        if (program.ops[i].kind == OpKind::compute && begun.insert(unit_pass_of(program, i)).second) {
            made.begins_.push_back(i);
        }
    }
    return made;
}

void UnitPasses::sort() {
    std::sort(begins_.begin(), begins_.end());
    begins_.erase(std::unique(begins_.begin(), begins_.end()), begins_.end());
}

int UnitPasses::issued_at(int needed, int ahead) const {
    if (ahead == 0) {
        return needed;
    }
    const auto at = std::lower_bound(begins_.begin(), begins_.end(), needed) - begins_.begin();
    return at >= ahead ? begins_[at - ahead] : 0;
}

int UnitPasses::after(int done, int after) const {
    if (after == 0) {
        return done;
    }
    const auto at = std::upper_bound(begins_.begin(), begins_.end(), done) - begins_.begin() + after - 1;
    return at < std::ssize(begins_) ? begins_[at] : done;
}

}  // namespace ziggurat::schedule
