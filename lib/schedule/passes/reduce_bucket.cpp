#include "schedule/passes/reduce_bucket.hpp"

#include <algorithm>
#include <map>

#include "base/contract.hpp"
#include "schedule/passes/update_writer.hpp"

namespace ziggurat::schedule {
namespace {

std::string described(const ModelLayout& model, const Bucket& bucket) {
    const int first = bucket.parts.front().unit;
    const int last = bucket.parts.back().unit;
    std::string text = model.table.units[first].name;
    if (first != last) {
        text += ".." + model.table.units[last].name;
    }
    return bucket.microbatch < 0 ? text : text + " " + std::to_string(bucket.microbatch);
}

}  // namespace

int first_span(const spec::RunSpec& spec, const ModelLayout& model) {
    switch (spec.sharding.reduce) {
        case spec::ReducePlan::at_end:
            return 1;
        case spec::ReducePlan::each_microbatch:
            return model.spans.data;
        case spec::ReducePlan::by_span:
            return model.spans.gradients;
    }
    return 1;
}

BucketWriter::BucketWriter(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
    : draft_{draft}, spec_{spec}, model_{model} {}

ByteRange BucketWriter::run_in(BufferId buffer, layout::ElementRange range) const {
    if (range.empty()) {
        return {};
    }
    const auto& held = draft_.program.buffers[buffer];
    const std::int64_t width = spec::element_bytes(held.type);
    const ByteRange run{(range.begin - held.first_element) * width, range.size() * width};
    ZG_ENSURES(run.offset >= 0 && run.offset + run.bytes <= held.bytes);
    return run;
}

layout::ElementRange BucketWriter::part_of_shard(const BucketPart& part, int span, int rank) const {
    return intersection(part.range, shards(part.unit).shard(span, rank));
}

/// Returns the members whose blocks the op lists; empty if ProgramBuilder::names_blocks is false.
std::vector<int> BucketWriter::named_members(int inner, int span) const {
    return draft_.names_blocks ? layout::data_group(model_.data_rank, inner, span) : std::vector<int>{};
}

Op BucketWriter::data_collective(OpKind kind, int inner, int span, const Bucket& bucket) const {
    return collective(kind, data_group(draft_.program, model_, inner, span), bucket);
}

Op BucketWriter::collective(OpKind kind, int group, const Bucket& bucket) const {
    auto& program = draft_.program;
    Op op;
    op.kind = kind;
    op.direction = Direction::backward;
    op.purpose = Purpose::gradients;
    op.unit = bucket.parts.front().unit;
    op.microbatch = bucket.microbatch;
    op.group = group;
    op.lane = program.lane(Engine::collective, op.group);
    op.label = described(model_, bucket) + " gradients " + to_string(kind);
    return op;
}

/// Leaves on each rank of the group (see layout::data_group) the sum of its shard over `span`.
///
/// If `of_microbatch` is true, reads the gradient of a micro-batch, and writes the first one of a step
/// directly to the accumulator. Otherwise works in the accumulator.
void BucketWriter::scatter(
    std::vector<Op>& out, const Bucket& bucket, bool of_microbatch, int inner, int span) const {
    if (inner == span) {
        return;
    }
    auto op = data_collective(OpKind::reduce_scatter, inner, span, bucket);
    op.payload = of_microbatch ? spec::DType::f32 : spec_.precision.gradient;
    for (const auto& part : bucket.parts) {
        const BufferId sum = accumulator(part.unit);
        const BufferId from = of_microbatch ? part.buffer : sum;
        const auto mine = part_of_shard(part, span, model_.data_rank);
        const BufferId to = of_microbatch && bucket.is_first && !is_narrow() && !mine.empty() ? sum : from;
        if (part_of_shard(part, inner, model_.data_rank).empty()) {
            continue;  // no member has elements of this part
        }
        for (const int member : named_members(inner, span)) {
            op.blocks.push_back(run_in(from, part_of_shard(part, span, member)));
        }
        // Shards are nested: the members' shards together are the shard that all of them have at `inner`.
        op.reads.push_back({from, Role::input, {run_in(from, part_of_shard(part, inner, model_.data_rank))}});
        op.writes.push_back({to, Role::output, {run_in(to, mine)}});
    }
    if (!op.reads.empty()) {
        out.push_back(std::move(op));
    }
}

void BucketWriter::add_up(std::vector<Op>& out, const Bucket& bucket) const {
    for (const auto& part : bucket.parts) {
        const int sum = accumulator(part.unit);
        const auto range = part_of_shard(part, first_span(spec_, model_), model_.data_rank);
        if (part.buffer == sum || range.empty()) {
            continue;
        }
        Op op;
        op.kind = OpKind::add;
        op.direction = Direction::backward;
        op.unit = part.unit;
        op.microbatch = bucket.microbatch;
        op.accumulate = !bucket.is_first;
        op.label = described(model_, bucket) + " gradients added up";
        op.reads.push_back({part.buffer, Role::input, {run_in(part.buffer, range)}});
        if (op.accumulate) {
            op.reads.push_back({sum, Role::sum, {run_in(sum, range)}});
        }
        op.writes.push_back({sum, Role::sum, {run_in(sum, range)}});
        out.push_back(std::move(op));
    }
}

/// Appends one all_reduce over `members` of the given ranges of accumulators, with one operand per
/// range.
void BucketWriter::sum_ranges(std::vector<Op>& out,
                              const Bucket& bucket,
                              const char* name,
                              const std::vector<int>& members,
                              const std::vector<Operand>& ranges) const {
    if (members.size() <= 1 || ranges.empty()) {
        return;
    }
    auto op = collective(OpKind::all_reduce, draft_.program.group(name, members), bucket);
    op.payload = spec_.precision.gradient;
    op.label += std::string{" over "} + name;
    for (const auto& range : ranges) {
        const auto run = range.runs.front();
        const int width = spec::element_bytes(spec_.precision.gradient);
        for (auto block : equal_blocks(run.bytes / width, width, static_cast<int>(members.size()))) {
            block.offset += run.offset;
            op.blocks.push_back(block);
        }
        op.reads.push_back({range.buffer, Role::input, {run}});
        op.writes.push_back({range.buffer, Role::output, {run}});
    }
    out.push_back(std::move(op));
}

void BucketWriter::sum_other_axes(std::vector<Op>& out, const Bucket& bucket) const {
    using spec::Axis;
    std::map<std::vector<int>, std::vector<Operand>> summands;  // by the ranks that hold the same slice
    std::vector<Operand> shared;                                // summed over two stages
    for (const auto& part : bucket.parts) {
        const int u = part.unit;
        const auto piece = part_of_shard(part, model_.spans.data, model_.data_rank);
        const auto& unit = model_.table.units[u];
        for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
            const auto range = intersection(piece, model_.flats[u].parameter(static_cast<int>(p)));
            if (unit.parameters[p].gradient_is_partial && !range.empty()) {
                summands[model_.slice_members(unit.parameters[p])].push_back(
                    {accumulator(u), Role::input, {run_in(accumulator(u), range)}});
            }
        }
        if (!piece.empty() && model_.is_shared_by_stages(u)) {
            shared.push_back({accumulator(u), Role::input, {run_in(accumulator(u), piece)}});
        }
    }
    for (const auto& [members, ranges] : summands) {
        const char* name = members == model_.mesh.group(Axis::tensor, model_.rank)       ? "tensor"
                           : members == model_.mesh.group(Axis::tensor_row, model_.rank) ? "tensor column"
                           : model_.has_grid()                                           ? "tensor grid"
                                                                                         : "shared heads";
        sum_ranges(out, bucket, name, members, ranges);
    }
    const int last = model_.head_stage;
    if (last > 0) {
        sum_ranges(out, bucket, "first and last stage",
                   {model_.mesh.neighbour(Axis::pipeline, model_.rank, 0),
                    model_.mesh.neighbour(Axis::pipeline, model_.rank, last)},
                   shared);
    }
}

/// Gathers pieces over d to whole optimizer shards, among the ranks that update the same shard.
void BucketWriter::gather(std::vector<Op>& out, const Bucket& bucket) const {
    const int inner = model_.spans.optimizer;
    const int span = model_.spans.data;
    if (inner == span) {
        return;
    }
    auto op = data_collective(OpKind::all_gather, inner, span, bucket);
    op.payload = spec_.precision.gradient;
    for (const auto& part : bucket.parts) {
        const BufferId buffer = accumulator(part.unit);
        if (part_of_shard(part, inner, model_.data_rank).empty()) {
            continue;
        }
        for (const int member : named_members(inner, span)) {
            op.blocks.push_back(run_in(buffer, part_of_shard(part, span, member)));
        }
        op.reads.push_back(
            {buffer, Role::input, {run_in(buffer, part_of_shard(part, span, model_.data_rank))}});
        op.writes.push_back(
            {buffer, Role::output, {run_in(buffer, part_of_shard(part, inner, model_.data_rank))}});
    }
    if (!op.reads.empty()) {
        out.push_back(std::move(op));
    }
}

std::optional<Op> BucketWriter::norm(UnitId u) const {
    Operand counted{accumulator(u), Role::gradient, {}};
    for (const auto range : model_.counted_ranges(u)) {
        counted.runs.push_back(run_in(accumulator(u), range));
    }
    if (counted.runs.empty()) {
        return std::nullopt;
    }
    Op op;
    op.kind = OpKind::norm;
    op.direction = Direction::backward;
    op.unit = u;
    op.label = model_.table.units[u].name + " sum of squares";
    op.reads.push_back(std::move(counted));
    const auto& of_trainer = draft_.program.trainer_buffers;
    const Operand sum{of_trainer.exact_sums_of(u), Role::exact_sums, {of_trainer.range_of_sum(u)}};
    op.reads.push_back(sum);
    op.writes.push_back(sum);
    return op;
}

void BucketWriter::norms(std::vector<Op>& out, const Bucket& bucket) const {
    for (const auto& part : bucket.parts) {
        if (!part.ends_unit) {
            continue;
        }
        if (auto op = norm(part.unit)) {
            out.push_back(*std::move(op));
        }
        if (clips_in_backward(spec_)) {
            out.push_back(unit_clip(draft_, model_, part.unit));
        }
    }
}

Reduction BucketWriter::reduce(const Bucket& bucket) const {
    Reduction made;
    const int first = first_span(spec_, model_);
    // Gradients that no collective has reduced can be added immediately.
    const bool adds_up = bucket.microbatch >= 0 && (!bucket.is_first || is_narrow());
    const bool adds_now = is_narrow() && first == 1;
    if (bucket.microbatch >= 0) {
        scatter(made.now, bucket, true, 1, first);
    }
    if (adds_up) {
        add_up(adds_now ? made.now : made.later, bucket);
    }
    if (bucket.is_last) {
        auto& out = bucket.is_shared ? made.at_end : adds_up && !adds_now ? made.later : made.now;
        scatter(out, bucket, false, first, model_.spans.data);
        sum_other_axes(out, bucket);
        gather(out, bucket);
        // For gradients away from the device, no compute lane waits for the norms, and they are still in
        // memory. Updates in backward may need them.
        const bool is_on_host = model_.stays_on_host(bucket.parts.front().unit);
        const bool are_away = spec_.tiers.gradients.device < 1 || is_on_host;
        norms((are_away || clips_in_backward(spec_)) && !bucket.is_shared ? made.later : made.norms, bucket);
    }
    return made;
}

}  // namespace ziggurat::schedule
