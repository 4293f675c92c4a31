#include "schedule/passes/reduce_pass.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/passes/reduce_accumulation.hpp"
#include "schedule/passes/reduce_bucket.hpp"

namespace ziggurat::schedule {
namespace {

/// Op that completes the gradient of a unit or of a segment, for one micro-batch or for the step.
struct Completion {
    OpId op = -1;
    UnitId unit = -1;
    int segment = -1;
    int microbatch = -1;
    bool is_last = false;    ///< no op adds to it later in the step
    bool ends_unit = false;  ///< it is the last completion of its unit
};

bool is_per_microbatch(const spec::RunSpec& spec) {
    return !adds_in_place(spec);
}

/// Returns the segment of an operand of gradients; -1 if the unit is not tiled. A unit that has a
/// tensor which no op writes is not tiled.
int segment_of(const ModelLayout& model, UnitId unit, const Operand& operand) {
    const auto& tiling = model.tiling(unit);
    return tiling.is_cut() ? tiling.segment_at(operand.runs.front().offset / 4) : -1;
}

/// Returns the trained ranges of a segment, or of the whole unit.
std::vector<layout::ElementRange> trained_ranges(const ModelLayout& model, UnitId unit, int segment) {
    const auto all = model.flats[unit].trained();
    if (segment < 0) {
        return {all};
    }
    auto ranges = model.tiling(unit).segments[segment].ranges;
    std::erase_if(ranges, [&](const layout::ElementRange& range) { return range.begin >= all.end; });
    return ranges;
}

/// Returns the completions in list order.
std::vector<Completion> completions(const ProgramBuilder& draft,
                                    const spec::RunSpec& spec,
                                    const ModelLayout& model) {
    const auto& program = draft.program;
    std::map<int, int> unit_of_buffer;
    for (const UnitId u : model.units) {
        if (model.trains(u)) {
            unit_of_buffer[draft.state.units[u].full_gradients] = u;
        }
    }
    std::map<std::tuple<int, int, int>, int> last_op;  // (unit, segment, micro-batch) -> op
    std::map<std::pair<int, int>, int> last_op_of_segment;
    std::map<int, int> last_op_of_unit;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        for (const auto& operand : program.ops[i].writes) {
            const auto unit = unit_of_buffer.find(operand.buffer);
            if (unit != unit_of_buffer.end()) {
                const int key = is_per_microbatch(spec) ? program.ops[i].microbatch : -1;
                const int segment = segment_of(model, unit->second, operand);
                last_op[{unit->second, segment, key}] = static_cast<int>(i);
                last_op_of_segment[{unit->second, segment}] = static_cast<int>(i);
                last_op_of_unit[unit->second] = static_cast<int>(i);
            }
        }
    }
    std::vector<Completion> found;
    found.reserve(last_op.size());
    for (const auto& [key, op] : last_op) {
        const auto& [unit, segment, microbatch] = key;
        found.push_back({op, unit, segment, microbatch, op == last_op_of_segment.at({unit, segment}),
                         op == last_op_of_unit.at(unit)});
    }
    std::sort(found.begin(), found.end(), [](const Completion& a, const Completion& b) {
        return std::tie(a.op, a.unit, a.segment) < std::tie(b.op, b.unit, b.segment);
    });
    return found;
}

/// Groups consecutive completions of one micro-batch whose units fit into a bucket.
///
/// A segment is reduced alone, because units are tiled to keep little of a gradient in memory. So is a
/// gradient that stays on the host, where the others are not.
std::vector<Bucket> buckets(const std::vector<Completion>& completed,
                            const spec::RunSpec& spec,
                            const ModelLayout& model) {
    std::vector<Bucket> made;
    std::int64_t elements = 0;
    for (const auto& done : completed) {
        const auto size = model.flats[done.unit].trained_elements();
        const bool is_alone = done.segment >= 0 || model.stays_on_host(done.unit);
        const bool is_shared = model.is_shared_by_stages(done.unit);
        const bool joins = !made.empty() && made.back().microbatch == done.microbatch &&
                           made.back().is_last == done.is_last && !is_alone && !made.back().is_alone &&
                           !is_shared && !made.back().is_shared &&
                           elements + size <= spec.overlap.bucket_elements;
        if (!joins) {
            made.push_back({});
            elements = 0;
        }
        elements += size;
        auto& bucket = made.back();
        for (const auto& range : trained_ranges(model, done.unit, done.segment)) {
            bucket.parts.push_back({done.unit, range, -1, false});
        }
        bucket.parts.back().ends_unit = done.ends_unit;
        bucket.is_alone = is_alone;
        bucket.after_op = done.op;
        bucket.microbatch = done.microbatch;
        bucket.is_first = done.microbatch == 0;
        bucket.is_last = done.is_last;
        bucket.is_shared = is_shared;
    }
    return made;
}

void move_to(std::vector<Op>& out, std::vector<Op>& ops) {
    std::move(ops.begin(), ops.end(), std::back_inserter(out));
    ops.clear();
}

Op zeros(const Program& program, BufferId buffer, const std::vector<layout::ElementRange>& ranges) {
    Op op;
    op.kind = OpKind::fill;
    op.unit = program.buffers[buffer].unit;
    op.microbatch = program.buffers[buffer].microbatch;
    op.label = "zeros where " + program.buffers[buffer].name + " is not written";
    Operand operand{buffer, Role::output, {}};
    for (const auto& range : ranges) {
        operand.runs.push_back({range.begin * 4, range.size() * 4});
    }
    op.writes.push_back(std::move(operand));
    return op;
}

/// Buffers for the gradients of single micro-batches, if these are summed over ranks one by one.
class MicrobatchGradients {
  public:
    MicrobatchGradients(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : draft_{draft}, spec_{spec}, model_{model} {
        const auto ranges = gradient_ranges(draft.program);
        for (const UnitId u : model.units) {
            if (!model.trains(u)) {
                continue;
            }
            const int placeholder = draft.state.units[u].full_gradients;
            unit_of_[placeholder] = u;
            missing_[u] = without_gradient(ranges, draft.state, model, u, is_per_microbatch(spec));
        }
    }

    /// Renames the gradients that `op` writes; adds to `before` the ops that zero their gaps at the first
    /// use.
    void rename(Op& op, std::vector<Op>& before) {
        for (auto& operand : op.writes) {
            const auto unit = unit_of_.find(operand.buffer);
            if (unit == unit_of_.end()) {
                continue;
            }
            const int microbatch = is_per_microbatch(spec_) ? op.microbatch : -1;
            const auto whole = model_.flats[unit->second].trained();
            auto range = whole;
            if (const int segment = segment_of(model_, unit->second, operand); segment >= 0) {
                const auto element = operand.runs.front().offset / 4;
                for (const auto& part : trained_ranges(model_, unit->second, segment)) {
                    range = part.begin <= element && element < part.end ? part : range;
                }
            }
            auto& buffer = buffers_[{unit->second, microbatch, range.begin}];
            if (buffer == 0) {
                buffer = make(unit->second, microbatch, range) + 1;
                if (range == whole && !missing_.at(unit->second).empty()) {
                    before.push_back(zeros(draft_.program, buffer - 1, missing_.at(unit->second)));
                }
            }
            operand.buffer = buffer - 1;
            for (auto& run : operand.runs) {
                run.offset -= draft_.program.buffers[buffer - 1].first_element * 4;
            }
        }
    }

    BufferId buffer(const BucketPart& part, int microbatch) const {
        return buffers_.at({part.unit, microbatch, part.range.begin}) - 1;
    }

  private:
    int make(UnitId unit, int microbatch, layout::ElementRange range) {
        const auto& state = draft_.state.units[unit];
        if (microbatch < 0) {
            return state.full_gradients;
        }
        if (microbatch == 0 && first_span(spec_, model_) == 1 &&
            spec_.precision.gradient == spec::DType::f32) {
            return state[StateKind::gradients];  // no sum over ranks comes before the accumulation
        }
        auto made = draft_.program.buffers[state.full_gradients];
        made.name = model_.table.units[unit].name + ".gradients of micro-batch " + std::to_string(microbatch);
        made.microbatch = microbatch;
        made.first_element = range.begin;
        made.bytes = range.size() * 4;
        return draft_.program.add_buffer(std::move(made));
    }

    ProgramBuilder& draft_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    std::map<int, int> unit_of_;
    std::map<int, std::vector<layout::ElementRange>> missing_;
    std::map<std::tuple<int, int, std::int64_t>, int>
        buffers_;  // (unit, micro-batch, first element) -> index + 1
};

}  // namespace

void reduce_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    auto& program = draft.program;
    const auto due = buckets(completions(draft, spec, model), spec, model);
    MicrobatchGradients gradients{draft, spec, model};
    GradientsWritten written;
    BucketWriter writer{draft, spec, model};
    std::vector<Op> later;
    // Sums over two stages come after each stage has sent everything that others wait for: the sum waits for
    // the other stage, and the compute lane for the sum.
    std::vector<Op> at_end;
    std::vector<Op> norms;

    std::vector<Op> out;
    std::vector<Op> before;
    std::size_t next = 0;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        auto op = std::move(program.ops[i]);
        gradients.rename(op, before);
        written.meet(program, op, before);
        move_to(out, before);
        out.push_back(std::move(op));
        for (; next < due.size() && due[next].after_op == static_cast<int>(i); ++next) {
            auto bucket = due[next];
            for (auto& part : bucket.parts) {
                part.buffer = gradients.buffer(part, bucket.microbatch);
            }
            move_to(out, later);
            auto reduction = writer.reduce(bucket);
            move_to(out, reduction.now);
            later = std::move(reduction.later);
            move_to(at_end, reduction.at_end);
            move_to(norms, reduction.norms);
        }
    }
    for (auto* rest : {&later, &at_end, &norms}) {
        move_to(out, *rest);
    }
    program.ops = std::move(out);
}

}  // namespace ziggurat::schedule
