#include "schedule/volumes/link_traffic.hpp"

#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns the operands whose bytes move: of a block of logits, only the one row that is written is
/// copied.
const std::vector<Operand>& moved_operands(const Op& op) {
    return moves_state(op) ? op.reads : op.writes;
}

/// Returns the bytes of the `i`-th operands of an op that moves bytes.
std::int64_t bytes_of_operand(const Op& op, std::size_t i) {
    const bool by_page = op.kind != OpKind::copy;
    std::int64_t bytes = 0;
    for (const auto& run : moved_operands(op)[i].runs) {
        bytes += by_page ? round_up_to_page(run.bytes) : run.bytes;
    }
    return bytes;
}

}  // namespace

std::optional<Link> link_of(const Op& op, const Program& program) {
    return link_of(program.lanes.at(op.lane).engine);
}

bool moves_state(const Op& op) {
    return op.purpose != Purpose::control && op.purpose != Purpose::checkpoint;
}

std::int64_t bytes_moved(const Op& op, const Program& program) {
    std::int64_t bytes = 0;
    const bool moves = link_of(op, program) && op.purpose != Purpose::checkpoint;
    for (std::size_t i = 0; moves && i < moved_operands(op).size(); ++i) {
        bytes += bytes_of_operand(op, i);
    }
    return bytes;
}

namespace {

template <class Counts>
BytesByLink bytes_of_ops(const Program& program, const Counts& counts) {
    BytesByLink sum{};
    for (const auto& op : program.ops) {
        const auto link = link_of(op, program);
        if (link && counts(op)) {
            sum[*link] += bytes_moved(op, program);
        }
    }
    return sum;
}

}  // namespace

BytesByLink bytes_by_link(const Program& program) {
    return bytes_of_ops(program, [](const Op& op) { return !op.predicate && moves_state(op); });
}

BytesByLink bytes_of_redone_updates(const Program& program) {
    return bytes_of_ops(program, [](const Op& op) { return op.predicate && moves_state(op); });
}

BytesByLink control_bytes_by_link(const Program& program) {
    return bytes_of_ops(program, [](const Op& op) { return op.purpose == Purpose::control; });
}

PayloadKind payload_kind_of(const Buffer& buffer) {
    if (buffer.consumer == MemoryCategory::stashes) {
        return PayloadKind::parameters;
    }
    if (buffer.state == StateKind::none) {
        return PayloadKind::activations;
    }
    switch (layout::row_of(buffer.state).group) {
        case layout::StateGroup::parameters:
            return PayloadKind::parameters;
        case layout::StateGroup::gradients:
            return PayloadKind::gradients;
        case layout::StateGroup::optimizer:
            return PayloadKind::optimizer;
    }
    return PayloadKind::activations;
}

BytesByPayload bytes_by_payload(const Program& program) {
    return bytes_by_payload(program, [](const Buffer&) { return true; });
}

BytesByPayload bytes_by_payload(const Program& program, const std::function<bool(const Buffer&)>& counts) {
    BytesByPayload sums{};
    for (const auto& op : program.ops) {
        const auto link = link_of(op, program);
        const bool counted = link && moves_state(op) && !op.predicate;
        for (std::size_t i = 0; counted && i < op.reads.size(); ++i) {
            const auto& moved = program.buffers.at(op.reads[i].buffer);
            sums[payload_kind_of(moved)][*link] += counts(moved) ? bytes_of_operand(op, i) : 0;
        }
    }
    return sums;
}

StateByTier bytes_at_home(const Program& program) {
    StateByTier sums{};
    for (const auto& buffer : program.buffers) {
        if (buffer.lifetime == Lifetime::persistent && buffer.state != StateKind::none && buffer.reuses < 0) {
            sums[payload_kind_of(buffer)][buffer.tier] += buffer.bytes;
        }
    }
    return sums;
}

}  // namespace ziggurat::schedule
