#include "schedule/residency/split_by_home.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "layout/flat_layout.hpp"

namespace ziggurat::schedule {
namespace {

const Buffer& buffer_of(const Program& program, const Operand& operand) {
    return program.buffers[operand.buffer];
}

/// True if an operand of a sum or norm has gradients, or one of a copy has a version of parameters.
bool is_divided(const Program& program, const Op& op, const Operand& operand) {
    return op.purpose == Purpose::stash || buffer_of(program, operand).state == StateKind::gradients;
}

/// Returns the elements of the unit's flat range that a byte range of a buffer holds.
layout::ElementRange elements_of(const Buffer& buffer, const ByteRange& run) {
    const std::int64_t width = element_bytes(buffer);
    return {buffer.first_element + run.offset / width,
            buffer.first_element + (run.offset + run.bytes) / width};
}

/// Returns an operand with the ranges that are within `range`.
Operand within(const Program& program, const Operand& operand, layout::ElementRange range) {
    const auto& buffer = buffer_of(program, operand);
    const std::int64_t width = element_bytes(buffer);
    Operand cut{operand.buffer, operand.role, {}};
    for (const auto& run : operand.runs) {
        const auto elements = elements_of(buffer, run);
        const auto begin = std::max(elements.begin, range.begin);
        const auto end = std::min(elements.end, range.end);
        if (begin < end) {
            cut.runs.push_back({(begin - buffer.first_element) * width, (end - begin) * width});
        }
    }
    return cut;
}

/// Returns the operand of an op that has a home; nullptr if none has.
const Operand* at_home(const Op& op, const std::vector<std::vector<HomePart>>& homes) {
    const auto& operands = op.kind == OpKind::add ? op.writes : op.reads;
    const bool has_home = !operands.empty() && !homes.at(operands.front().buffer).empty();
    return has_home ? &operands.front() : nullptr;
}

/// True if `at` divides every range of the operand between two blocks of an exact sum.
bool is_between_blocks(const Program& program, const Operand& operand, std::int64_t at) {
    return std::ranges::all_of(operand.runs, [&](const ByteRange& run) {
        const auto elements = elements_of(buffer_of(program, operand), run);
        return at <= elements.begin || at >= elements.end ||
               (at - elements.begin) % layout::FlatLayout::block == 0;
    });
}

/// Returns the same op for a part of its state; its other operands stay whole.
Op part_of(const Program& program, const Op& op, layout::ElementRange range) {
    auto part = op;
    for (auto* operands : {&part.reads, &part.writes}) {
        for (auto& operand : *operands) {
            if (is_divided(program, op, operand)) {
                operand = within(program, operand, range);
            }
        }
    }
    return part;
}

/// Appends the op, or the parts into which it is divided, to `ops`.
void add_parts(const Program& program,
               Op op,
               const std::vector<std::vector<HomePart>>& homes,
               std::vector<Op>& ops) {
    std::vector<Op> parts;
    const bool may_divide = op.kind == OpKind::add || op.kind == OpKind::norm || op.purpose == Purpose::stash;
    if (const auto* state = may_divide ? at_home(op, homes) : nullptr) {
        const auto& of_buffer = homes[state->buffer];
        const bool is_divisible = std::ranges::all_of(of_buffer, [&](const HomePart& part) {
            return op.kind != OpKind::norm || is_between_blocks(program, *state, part.range.end);
        });
        for (const auto& part : of_buffer) {
            if (is_divisible && !within(program, *state, part.range).runs.empty()) {
                parts.push_back(part_of(program, op, part.range));
            }
        }
    }
    if (parts.size() < 2) {
        ops.push_back(std::move(op));
    } else {
        std::ranges::move(parts, std::back_inserter(ops));
    }
}

}  // namespace

void split_by_home(Program& program, const std::vector<std::vector<HomePart>>& homes) {
    std::vector<Op> ops;
    ops.reserve(program.ops.size());
    for (auto& op : program.ops) {
        add_parts(program, std::move(op), homes, ops);
    }
    program.ops = std::move(ops);
}

}  // namespace ziggurat::schedule
