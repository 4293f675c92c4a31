/// Results of collectives for each member.
#include <cstddef>
#include <map>

#include "schedule/verify/simulate_semantics.hpp"

namespace ziggurat::schedule::simulation {
namespace {

/// Returns the offset within the operand of the byte at `offset` of its buffer; -1 if it is not in the
/// operand.
std::int64_t place_in(const Operand& operand, std::int64_t offset) {
    std::int64_t position = 0;
    for (const auto& run : operand.runs) {
        if (run.offset <= offset && offset < run.offset + run.bytes) {
            return position + offset - run.offset;
        }
        position += run.bytes;
    }
    return -1;
}

Pieces block_of(const Operand& operand, const Pieces& pieces, const ByteRange& block) {
    if (block.bytes == 0) {
        return {};
    }
    const auto begin = place_in(operand, block.offset);
    return begin < 0 ? Pieces{} : part(pieces, begin, begin + block.bytes);
}

void append_moved(Pieces& pieces, const Pieces& more, std::int64_t by) {
    for (auto piece : more) {
        piece.begin += by;
        piece.end += by;
        append(pieces, piece);
    }
}

}  // namespace

Pieces SimulatedWorld::kept(Pieces gradients, const Buffer& in) {
    for (auto& piece : gradients) {
        if (in.state == StateKind::gradients && in.type != spec::DType::f32) {
            piece.content.term = terms_.rounded(piece.content.term);
        }
    }
    return gradients;
}

std::vector<std::vector<Pieces>> SimulatedWorld::collective(
    const std::vector<std::pair<int, int>>& rank_and_op, const std::vector<Found>& found) {
    std::vector<std::vector<Pieces>> values(rank_and_op.size());
    const auto& [rank, op] = rank_and_op.front();
    for (std::size_t i = 0; i < op_of(rank, op).writes.size(); ++i) {
        exchange(rank_and_op, found, i, values);
    }
    return values;
}

/// Runs one operand of a collective: from reads[i] of all members to writes[i] of all members.
void SimulatedWorld::exchange(const std::vector<std::pair<int, int>>& rank_and_op,
                              const std::vector<Found>& found,
                              std::size_t i,
                              std::vector<std::vector<Pieces>>& values) {
    const auto size = rank_and_op.size();
    const auto member_op = [&](std::size_t m) -> const Op& {
        return op_of(rank_and_op[m].first, rank_and_op[m].second);
    };
    const auto kind = member_op(0).kind;
    const auto run_of = [&](std::size_t m, std::size_t block) -> const ByteRange& {
        return member_op(m).blocks[i * size + block];
    };
    const auto sum_of_block = [&](std::size_t block) {
        std::vector<Pieces> summands;
        for (std::size_t m = 0; m < size; ++m) {
            summands.push_back(block_of(member_op(m).reads[i], found[m].reads[i], run_of(m, block)));
        }
        const auto& [rank, op] = rank_and_op[block];
        return kept(summed(summands, rank, op), buffer(rank, op_of(rank, op).reads[i].buffer));
    };
    std::vector<Pieces> blocks(size);
    for (std::size_t b = 0; b < size; ++b) {
        blocks[b] = is_sum(kind) ? sum_of_block(b) : found[b].reads[i];
    }
    for (std::size_t m = 0; m < size; ++m) {
        for (std::size_t b = 0; kind == OpKind::all_to_all && b < size; ++b) {
            blocks[b] = block_of(member_op(b).reads[i], found[b].reads[i], run_of(b, m));
        }
        if (writes_own_block(kind)) {
            values[m].push_back(blocks[m]);
            continue;
        }
        // Bytes between the blocks do not change; blocks can have any order of offsets.
        const auto& written = member_op(m).writes[i];
        std::map<std::int64_t, std::size_t> by_place;
        for (std::size_t b = 0; b < size; ++b) {
            if (run_of(m, b).bytes > 0) {
                by_place[place_in(written, run_of(m, b).offset)] = b;
            }
        }
        Pieces whole;
        std::int64_t position = 0;
        for (const auto& [begin, b] : by_place) {
            const auto bytes = run_of(m, b).bytes;
            if (begin < position || bytes_of(blocks[b]) != bytes) {
                report_finding(FindingKind::malformed, rank_and_op[m].first, rank_and_op[m].second,
                               "has block " + std::to_string(b) + " of " + std::to_string(bytes) +
                                   " bytes, for which its member has " + std::to_string(bytes_of(blocks[b])));
                break;
            }
            append_moved(whole, part(found[m].before[i], position, begin), position);
            append_moved(whole, blocks[b], begin);
            position = begin + bytes;
        }
        append_moved(whole, part(found[m].before[i], position, written.bytes()), position);
        values[m].push_back(std::move(whole));
    }
}

}  // namespace ziggurat::schedule::simulation
