#include "schedule/residency/away_moves.hpp"

#include <algorithm>

#include "schedule/residency/move_op.hpp"

namespace ziggurat::schedule {

using spec::Tier;

AwayMoves::AwayMoves(Program& program, int prefetch)
    : program_{program}, prefetch_{prefetch}, unit_passes_{program} {}

BufferId AwayMoves::like(BufferId buffer, Tier tier, const char* what) {
    auto made = program_.buffers[buffer];
    made.name += what;
    made.tier = tier;
    return program_.add_buffer(std::move(made));
}

int AwayMoves::returns_at(OpId wanted, Tier home) const {
    return unit_passes_.issued_at(wanted, ahead(home == Tier::nvme ? OpKind::read : OpKind::copy));
}

BufferId AwayMoves::send_away(BufferId value, Tier home, int position) {
    std::vector<BufferId> path{value};
    if (home == Tier::nvme) {
        path.push_back(like(value, Tier::host, " on its way out"));
    }
    path.push_back(like(value, home, " away"));
    for (std::size_t s = 0; s + 1 < path.size(); ++s) {
        in_front_.emplace(std::pair{position, MoveDirection::away}, move_op(program_, path[s], path[s + 1]));
    }
    return path.back();
}

BufferId AwayMoves::bring_back(BufferId original, BufferId away, OpId wanted, int earliest) {
    std::vector<BufferId> path{away};
    if (program_.buffers[away].tier == Tier::nvme) {
        path.push_back(like(original, Tier::host, " on its way back"));
    }
    path.push_back(like(original, Tier::device, " back"));
    for (std::size_t s = 0; s + 1 < path.size(); ++s) {
        auto op = move_op(program_, path[s], path[s + 1]);
        const int issued = unit_passes_.issued_at(wanted, ahead(op.kind));
        in_front_.emplace(std::pair{std::max(issued, earliest), MoveDirection::back}, std::move(op));
    }
    returned_[original].push_back({path.back(), wanted});
    return path.back();
}

void AwayMoves::insert() {
    std::vector<Op> ops;
    auto next = in_front_.begin();
    for (int i = 0; i < static_cast<int>(program_.ops.size()); ++i) {
        for (; next != in_front_.end() && next->first.first == i; ++next) {
            ops.push_back(std::move(next->second));
        }
        auto& op = program_.ops[i];
        for (auto* operands : {&op.reads, &op.writes}) {
            for (auto& operand : *operands) {
                const auto found = returned_.find(operand.buffer);
                if (found == returned_.end()) {
                    continue;
                }
                for (const auto& returned : found->second) {
                    operand.buffer = i >= returned.first_op ? returned.buffer : operand.buffer;
                }
            }
        }
        ops.push_back(std::move(op));
    }
    program_.ops = std::move(ops);
}

}  // namespace ziggurat::schedule
