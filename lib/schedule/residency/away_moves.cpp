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
    const auto away = like(value, home, " away");
    send(value, away, position, program_.buffers[value].microbatch);
    return away;
}

BufferId AwayMoves::bring_back(BufferId original, BufferId away, OpId wanted, int earliest) {
    const auto back = like(original, Tier::device, " back");
    fetch(away, back, wanted, earliest, program_.buffers[original].microbatch);
    returned_[original].push_back({back, wanted});
    return back;
}

void AwayMoves::send(BufferId value, BufferId away, int position, int microbatch) {
    for (auto& op : hops(value, away, microbatch)) {
        in_front_.emplace(std::pair{position, MoveDirection::away}, std::move(op));
    }
}

void AwayMoves::fetch(BufferId away, BufferId back, OpId wanted, int earliest, int microbatch) {
    for (auto& op : hops(away, back, microbatch)) {
        const int issued = unit_passes_.issued_at(wanted, ahead(op.kind));
        in_front_.emplace(std::pair{std::max(issued, earliest), MoveDirection::back}, std::move(op));
    }
}

std::vector<Op> AwayMoves::hops(BufferId from, BufferId to, int microbatch) {
    std::vector<BufferId> path{from, to};
    const bool is_out = program_.buffers[to].tier == Tier::nvme;
    if (is_out || program_.buffers[from].tier == Tier::nvme) {
        const auto between =
            like(is_out ? from : to, Tier::host, is_out ? " on its way out" : " on its way back");
        program_.buffers[between].lifetime = Lifetime::transient;
        program_.buffers[between].microbatch = microbatch;
        path.insert(path.begin() + 1, between);
    }
    std::vector<Op> made;
    for (std::size_t s = 0; s + 1 < path.size(); ++s) {
        made.push_back(move_op(program_, path[s], path[s + 1]));
        made.back().microbatch = microbatch;
    }
    return made;
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
