#include "tests/support/ring_trace.hpp"

#include <algorithm>

#include "layout/context/context_heads.hpp"

namespace ziggurat::test {

using schedule::Op;
using schedule::Operand;
using schedule::OpKind;
using schedule::Program;
using schedule::Role;

RingTrace::RingTrace(const spec::RunSpec& spec, const std::vector<Program>& programs)
    : spec_{spec}, programs_{programs}, ranks_{spec.parallel.context} {
    for (const auto& program : programs) {
        states_.push_back({.model = schedule::ModelLayout{spec, program.rank}});
    }
    const auto heads = layout::context_heads(spec.model, spec.parallel, true);
    block_elements_ = states_.front().model.tokens / 2 * 2 * heads.kv_heads * heads.head_dim;
}

std::string RingTrace::run() {
    bool has_moved = true;
    while (has_moved && error_.empty()) {
        has_moved = false;
        for (std::size_t r = 0; r < states_.size(); ++r) {
            const auto& ops = programs_[r].ops;
            auto& rank = states_[r];
            for (receive(rank);
                 rank.next_op < ops.size() && error_.empty() && !waits(rank, ops[rank.next_op]);
                 receive(rank)) {
                step(rank, programs_[r], ops[rank.next_op]);
                ++rank.next_op;
                has_moved = true;
            }
        }
    }
    for (std::size_t r = 0; r < states_.size() && error_.empty(); ++r) {
        if (states_[r].next_op < programs_[r].ops.size()) {
            fail(programs_[r].ops[states_[r].next_op], "rank " + std::to_string(r) + " waits for ever");
        }
    }
    for (const auto& [key, waiting] : messages_) {
        error_ += !waiting.empty() && error_.empty() ? "a message is not received" : "";
    }
    return error_;
}

void RingTrace::fail(const Op& op, const std::string& text) {
    error_ = error_.empty() ? op.label + ": " + text : error_;
}

std::vector<RingTrace::Place> RingTrace::places(const Program& program, const Operand& operand) const {
    const auto bytes = block_elements_ * spec::element_bytes(program.buffers[operand.buffer].type);
    std::vector<Place> found;
    for (std::int64_t i = 0; i < operand.bytes() / bytes; ++i) {
        found.emplace_back(static_cast<int>(operand.buffer), operand.runs.front().offset / bytes + i);
    }
    return found;
}

void RingTrace::receive(Rank& rank) {
    for (auto& [link, posted] : rank.awaited) {
        auto& sent = messages_[link];
        for (; !posted.empty() && !sent.empty(); posted.pop_front(), sent.pop_front()) {
            const auto& into = posted.front();
            if (into.size() != sent.front().size()) {
                error_ = "a message has another number of blocks than its receive";
                return;
            }
            for (std::size_t i = 0; i < into.size(); ++i) {
                rank.blocks[into[i]] = sent.front()[i];
            }
        }
    }
}

bool RingTrace::waits(const Rank& rank, const Op& op) const {
    const auto has_to_arrive = [&](const Operand& operand) {
        return std::ranges::any_of(rank.awaited, [&](const auto& link) {
            return std::ranges::any_of(link.second, [&](const std::vector<Place>& posted) {
                return posted.front().first == static_cast<int>(operand.buffer);
            });
        });
    };
    return std::ranges::any_of(op.reads, has_to_arrive) || std::ranges::any_of(op.writes, has_to_arrive);
}

void RingTrace::step(Rank& rank, const Program& program, const Op& op) {
    if (op.kind == OpKind::send && op.purpose == schedule::Purpose::context) {
        const auto& group = program.groups[op.group];
        std::vector<Block> sent;
        for (const auto& place : places(program, op.reads.front())) {
            sent.push_back(rank.blocks[place]);
        }
        messages_[{program.rank, group.members[op.peer], group.name}].push_back(sent);
    } else if (op.kind == OpKind::receive && op.purpose == schedule::Purpose::context) {
        const auto& group = program.groups[op.group];
        rank.awaited[{group.members[op.peer], program.rank, group.name}].push_back(
            places(program, op.writes.front()));
    } else if (op.kind == OpKind::fill &&
               program.buffers[op.writes.front().buffer].name.find(".d kv of") != std::string::npos) {
        for (const auto& place : places(program, op.writes.front())) {
            rank.blocks[place].clear();
        }
    } else if (op.kind == OpKind::compute) {
        run_compute(rank, program, op);
    }
}

bool RingTrace::attends(const Rank& rank, const Op& op, std::int64_t key_block) const {
    const layout::RingRound sizes{.block = spec_.data.seq / (2 * ranks_),
                                  .window = rank.model.table.units[op.unit].phases[op.phase].window};
    return sizes.meet(rank.model.context_rank, key_block) ||
           sizes.meet(2 * ranks_ - 1 - rank.model.context_rank, key_block);
}

void RingTrace::check_attended(const Rank& rank, const Op& op, const std::set<std::int64_t>& attended) {
    for (std::int64_t block = 0; block < 2 * ranks_; ++block) {
        if (attends(rank, op, block) && !attended.contains(block)) {
            fail(op, "no round has block " + std::to_string(block));
        }
    }
}

void RingTrace::run_compute(Rank& rank, const Program& program, const Op& op) {
    const int me = rank.model.context_rank;
    const std::int64_t own[] = {me, 2 * ranks_ - 1 - me};
    const auto* kv = program.find_read(op, Role::kv);
    const auto* summed = program.find_write(op, Role::d_kv);
    if (const auto* packed = program.find_write(op, Role::kv)) {
        const auto into = places(program, *packed);
        for (std::size_t i = 0; i < into.size(); ++i) {
            rank.blocks[into[i]] = {{own[i], -1}};
        }
    } else if (kv != nullptr) {
        ++num_rounds_;
        auto& attended = rank.attended[{static_cast<int>(op.unit), op.microbatch, op.direction}];
        const auto from = places(program, *kv);
        const auto into = summed != nullptr ? places(program, *summed) : from;
        for (std::size_t i = 0; i < from.size(); ++i) {
            const auto& keys = rank.blocks[from[i]];
            if (keys.size() != 1 || into.size() != from.size()) {
                return fail(op, "has no keys");
            }
            const auto block = keys.begin()->first;
            if (!attended.insert(block).second) {
                fail(op, "has block " + std::to_string(block) + " again");
            }
            if (summed != nullptr) {
                auto& sum = rank.blocks[into[i]];
                if (program.find_read(op, Role::d_kv) == nullptr) {
                    sum.clear();
                }
                sum.emplace(block, me);
            }
        }
        if (program.find_write(op, Role::output) != nullptr) {
            check_attended(rank, op, attended);
        }
    } else if (const auto* addend = program.find_read(op, Role::d_addend);
               addend != nullptr && summed != nullptr) {
        const auto from = places(program, *addend);
        const auto into = places(program, *summed);
        for (std::size_t i = 0; i < from.size(); ++i) {
            const auto more = rank.blocks[from[i]];
            rank.blocks[into[i]].insert(more.begin(), more.end());
        }
    } else if (const auto* joined = program.find_read(op, Role::d_kv)) {
        check_attended(rank, op, rank.attended[{static_cast<int>(op.unit), op.microbatch, op.direction}]);
        const auto from = places(program, *joined);
        for (std::size_t i = 0; i < from.size(); ++i) {
            const auto& sum = rank.blocks[from[i]];
            for (const auto& other : states_) {
                const std::pair term{own[i], other.model.context_rank};
                if (sum.count(term) > 1 || (sum.count(term) == 0 && attends(other, op, own[i]))) {
                    fail(op, "has gradients of rank " + std::to_string(term.second) + " " +
                                 std::to_string(sum.count(term)) + " times in block " +
                                 std::to_string(own[i]));
                }
            }
            for (const auto& [block, origin] : sum) {
                if (block != own[i]) {
                    fail(op, "has gradients of block " + std::to_string(block));
                }
            }
        }
    }
}

}  // namespace ziggurat::test
