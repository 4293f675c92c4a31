#include "schedule/passes/reduce_accumulation.hpp"

#include <algorithm>

namespace ziggurat::schedule {

bool is_parameter_gradient(const Program& program, const Operand& operand) {
    return program.buffers[operand.buffer].state == StateKind::gradients;
}

GradientRanges gradient_ranges(const Program& program) {
    GradientRanges written;
    for (const auto& op : program.ops) {
        for (const auto& operand : op.writes) {
            if (!is_parameter_gradient(program, operand)) {
                continue;
            }
            auto& of_buffer = written[operand.buffer];
            for (const auto& run : operand.runs) {
                auto& end = of_buffer[run.offset / 4];
                end = std::max(end, (run.offset + run.bytes) / 4);
            }
        }
    }
    return written;
}

std::vector<layout::ElementRange> without_gradient(const GradientRanges& ranges,
                                                   const StateBuffers& state,
                                                   const ModelLayout& model,
                                                   UnitId unit,
                                                   bool with_gaps) {
    const auto& flat = model.flats[unit];
    const auto found = ranges.find(state.units[unit].full_gradients);
    const auto written = found == ranges.end() ? GradientRanges::mapped_type{} : found->second;
    std::vector<layout::ElementRange> missing;
    if (with_gaps) {
        std::int64_t at = 0;
        for (const auto& [begin, end] : written) {
            if (begin > at) {
                missing.push_back({at, begin});
            }
            at = std::max(at, end);
        }
        if (at < flat.trained_elements()) {
            missing.push_back({at, flat.trained_elements()});
        }
        return missing;
    }
    for (const auto& range : flat.parameters()) {
        if (range.begin >= flat.trained_elements()) {
            continue;
        }
        const auto after = written.upper_bound(range.begin);
        if (after == written.begin() || std::prev(after)->second <= range.begin) {
            missing.push_back(range);
        }
    }
    return missing;
}

void GradientsWritten::meet(const Program& program, Op& op, std::vector<Op>& before) {
    if (op.kind == OpKind::add) {
        const auto& sum = op.writes.front();
        op.accumulate = !written_.insert({sum.buffer, sum.runs.front().offset}).second;
        if (op.accumulate) {
            op.reads.push_back(sum);
        }
        return;
    }
    if (op.kind != OpKind::compute) {
        return;
    }
    std::vector<const Operand*> fresh;
    bool has_old = false;
    for (const auto& operand : op.writes) {
        if (is_parameter_gradient(program, operand)) {
            if (written_.insert({operand.buffer, operand.runs.front().offset}).second) {
                fresh.push_back(&operand);
            } else {
                has_old = true;
            }
        }
    }
    op.accumulate = has_old;
    if (!has_old || fresh.empty()) {
        return;
    }
    Op zeros;
    zeros.kind = OpKind::fill;
    zeros.lane = op.lane;
    zeros.direction = op.direction;
    zeros.unit = op.unit;
    zeros.phase = op.phase;
    zeros.microbatch = op.microbatch;
    zeros.label = "zeros for " + op.label;
    for (const auto* operand : fresh) {
        zeros.writes.push_back(*operand);
    }
    before.push_back(std::move(zeros));
}

}  // namespace ziggurat::schedule
