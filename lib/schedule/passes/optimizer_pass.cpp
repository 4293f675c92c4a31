#include "schedule/passes/optimizer_pass.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/contract.hpp"
#include "schedule/residency/homes.hpp"
#include "schedule/residency/updates_in_backward.hpp"
#include "spec/depths.hpp"

namespace ziggurat::schedule {
namespace {

/// True if each unit of a chunk has its own update.
bool is_by_unit(const spec::RunSpec& spec) {
    return spec.overlap.optimizer_with_backward || spec.overlap.delayed_update;
}

/// Part of the update of a chunk.
enum class UpdatePart {
    whole,
    speculative,  ///< assumes that the gradient needs no clipping; keeps the state before it
    commit,       ///< undoes and repeats the update if the assumption was wrong; publishes the parameters
    delayed       ///< leaves the parameters to a publication in the next step
};

class UpdateWriter {
  public:
    UpdateWriter(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : draft_{draft}, spec_{spec}, model_{model}, inputs_{draft.program.trainer_buffers.update_inputs} {
        if (spec::speculates(spec)) {
            auto made = draft.program.buffers[inputs_];
            made.name = "inputs of speculative updates";
            made.lifetime = Lifetime::transient;
            speculative_inputs_ = draft.program.add_buffer(std::move(made));
        }
    }

    /// Returns the op that gives the step's inputs to its updates, after those of the previous step.
    Op pass_on_inputs() {
        auto& program = draft_.program;
        Op op;
        op.kind = OpKind::copy;
        op.purpose = Purpose::control;
        op.label = "inputs of updates";
        op.lane = program.lane(Engine::step_end);
        op.reads.push_back(whole(program, program.trainer_buffers.step_inputs, Role::step_inputs));
        op.writes.push_back(whole(program, inputs_of_backward(), Role::update_inputs));
        return op;
    }

    Op step_end() {
        auto& program = draft_.program;
        Op op;
        op.kind = OpKind::step_end;
        op.purpose = Purpose::control;
        op.label = "norm and clip factor";
        if (model_.mesh.ranks() > 1) {
            std::vector<int> all(model_.mesh.ranks());
            std::iota(all.begin(), all.end(), 0);
            op.group = program.group("all", all);
        }
        op.lane = program.lane(Engine::step_end);
        op.reads.push_back(whole(program, program.trainer_buffers.exact_sums, Role::exact_sums));
        op.reads.push_back(whole(program, program.trainer_buffers.step_inputs, Role::step_inputs));
        if (!spec_.overlap.optimizer_with_backward || speculative_inputs_ >= 0) {
            op.writes.push_back(whole(program, inputs_, Role::update_inputs));
        }
        // A rank without its own gradients waits only for the losses of its passes.
        const auto tensor = spec_.data.has_pairs ? BatchTensor::pair_results : BatchTensor::losses;
        if (model_.counts_losses()) {
            const auto made = buffers_written_as(role_of(tensor));
            for (int m = 0; m < program.microbatches; ++m) {
                const int losses = program.trainer_buffers.of(tensor, m);
                if (made.contains(losses)) {
                    op.reads.push_back(whole(program, losses, role_of(tensor)));
                }
            }
        }
        return op;
    }

    /// Updates a chunk, or the part of a chunk that belongs to one unit.
    ///
    /// \param undo  buffer for the state before a speculative update; -1 for a whole update
    Op update(int chunk, const std::vector<layout::UnitRange>& runs, UpdatePart part, BufferId undo = -1) {
        auto& program = draft_.program;
        Op op;
        op.kind = OpKind::update;
        op.chunk = chunk;
        op.label = (part == UpdatePart::speculative ? "speculative update of chunk "
                    : part == UpdatePart::commit    ? "commit of chunk "
                    : part == UpdatePart::delayed   ? "delayed update of chunk "
                                                    : "update of chunk ") +
                   std::to_string(chunk) +
                   (is_by_unit(spec_) ? ", " + model_.table.units[runs.front().unit].name : "");
        std::int64_t undo_offset = 0;
        for (const auto& run : runs) {
            const auto range = run.range;
            const auto& state = draft_.state.units[run.unit];
            const auto both = [&](BufferId buffer, Role role) {
                op.reads.push_back({buffer, role, {run_in(buffer, range)}});
                op.writes.push_back({buffer, role, {run_in(buffer, range)}});
            };
            const BufferId gradients = state[StateKind::gradients];
            const BufferId parameters = state[StateKind::parameters];
            op.reads.push_back({gradients, Role::gradient, {run_in(gradients, range)}});
            both(model_.has_master() ? state[StateKind::master] : parameters, Role::master);
            both(state[StateKind::first_moment], Role::first_moment);
            both(state[StateKind::second_moment], Role::second_moment);
            if (spec_.train.average.is_on() && part != UpdatePart::speculative) {
                both(state[StateKind::average], Role::average);
            }
            if (model_.has_master() && (part == UpdatePart::whole || part == UpdatePart::commit)) {
                op.writes.push_back({parameters, Role::parameters, {run_in(parameters, range)}});
            }
            if (part == UpdatePart::speculative || part == UpdatePart::commit) {
                const ByteRange before{undo_offset, undo_bytes(range)};
                auto& operands = part == UpdatePart::speculative ? op.writes : op.reads;
                operands.push_back({undo, Role::undo, {before}});
                undo_offset += before.bytes;
            }
        }
        const auto inputs = part == UpdatePart::speculative ? speculative_inputs_ : inputs_;
        op.reads.push_back(whole(program, inputs, Role::update_inputs));
        return op;
    }

    /// Rounds the master weights of a chunk to its parameters.
    ///
    /// An asynchronous save takes parameters on NVMe from the op before it changes them.
    Op round_masters(int chunk, const std::vector<layout::UnitRange>& runs) {
        const bool is_saved_on_its_way = draft_.program.variant == Variant::train &&
                                         spec_.tiers.parameters.nvme > 0 && spec_.checkpoint.every &&
                                         spec_.checkpoint.is_async;
        Op op;
        op.kind = OpKind::update;
        op.purpose = Purpose::publication;
        op.chunk = chunk;
        op.label = "rounding of chunk " + std::to_string(chunk);
        for (const auto& [unit, range] : runs) {
            const auto& state = draft_.state.units[unit];
            const BufferId master = state[StateKind::master];
            const BufferId parameters = state[StateKind::parameters];
            op.reads.push_back({master, Role::master, {run_in(master, range)}});
            op.writes.push_back({parameters, Role::parameters, {run_in(parameters, range)}});
            if (is_saved_on_its_way) {
                op.reads.push_back(op.writes.back());
            }
        }
        return op;
    }

    /// Adds a buffer for master weights and moments of each range before a speculative update.
    BufferId add_undo(int chunk, const std::vector<layout::UnitRange>& runs) {
        Buffer made;
        made.name = "undo of chunk " + std::to_string(chunk);
        made.tier = spec::Tier::host;
        made.consumer = MemoryCategory::undo;
        for (const auto& run : runs) {
            made.bytes += undo_bytes(run.range);
        }
        return draft_.program.add_buffer(std::move(made));
    }

    /// Returns the publication of some units; nothing if no other rank holds their parameters.
    std::vector<Op> publish(const std::vector<UnitId>& units) {
        const int inner = model_.spans.parameters;
        const int span = model_.spans.optimizer;
        if (inner == span) {
            return {};
        }
        auto& program = draft_.program;
        Op op;
        op.kind = OpKind::all_gather;
        op.purpose = Purpose::publication;
        op.unit = units.front();
        op.group = data_group(program, model_, inner, span);
        op.lane = program.lane(Engine::collective, op.group);
        op.payload = spec_.precision.compute;
        op.label = "publication of " + model_.table.units[units.front()].name;
        const auto members =
            draft_.names_blocks ? layout::data_group(model_.data_rank, inner, span) : std::vector<int>{};
        for (const UnitId u : units) {
            const BufferId buffer = draft_.state.units[u][StateKind::parameters];
            const auto& shards = model_.shards[u];
            for (const int member : members) {
                op.blocks.push_back(run_in(buffer, shards.shard(span, member)));
            }
            op.reads.push_back({buffer, Role::input, {run_in(buffer, shards.shard(span, model_.data_rank))}});
            op.writes.push_back(whole(program, buffer, Role::output));
        }
        return {std::move(op)};
    }

  private:
    /// Three fp32 values of each element: master weight and moments.
    static std::int64_t undo_bytes(layout::ElementRange range) { return 3 * 4 * range.size(); }

    BufferId inputs_of_backward() const { return speculative_inputs_ >= 0 ? speculative_inputs_ : inputs_; }

    std::unordered_set<int> buffers_written_as(Role role) const {
        std::unordered_set<int> made;
        for (const auto& op : draft_.program.ops) {
            if (const auto* written = draft_.program.find_write(op, role)) {
                made.insert(written->buffer);
            }
        }
        return made;
    }

    ByteRange run_in(BufferId buffer, layout::ElementRange range) const {
        const auto& held = draft_.program.buffers[buffer];
        const std::int64_t width = element_bytes(held);
        const ByteRange run{(range.begin - held.first_element) * width, range.size() * width};
        ZG_ENSURES(run.offset >= 0 && run.offset + run.bytes <= held.bytes);
        return run;
    }

    ProgramBuilder& draft_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    BufferId inputs_;                   ///< of updates after step_end, or of all updates
    BufferId speculative_inputs_ = -1;  ///< the same for speculative updates; -1: no update is speculative
};

/// Returns buckets of consecutive units, in order of first use; one collective publishes a bucket.
std::deque<std::vector<UnitId>> publication_buckets(const spec::RunSpec& spec, const ModelLayout& model) {
    std::deque<std::vector<UnitId>> buckets;
    std::int64_t elements = 0;
    for (const UnitId u : model.units) {
        if (!model.trains(u)) {
            continue;
        }
        const auto size = model.shards[u].padded_elements();
        if (buckets.empty() || elements + size > spec.overlap.bucket_elements) {
            buckets.emplace_back();
            elements = 0;
        }
        buckets.back().push_back(u);
        elements += size;
    }
    return buckets;
}

}  // namespace

layout::ChunkLayout optimizer_chunks(const spec::RunSpec& spec, const ModelLayout& model) {
    std::vector<layout::UnitRange> shards;
    for (const UnitId u : model.units) {
        if (model.trains(u)) {
            shards.push_back({u, model.shards[u].shard(model.spans.optimizer, model.data_rank)});
        }
    }
    return {std::move(shards), spec.tiers.chunk_elements, chunk_alignment(spec)};
}

void publication_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    auto& ops = draft.program.ops;
    UpdateWriter writer{draft, spec, model};
    const auto chunks = optimizer_chunks(spec, model);
    auto bucket = publication_buckets(spec, model);
    for (int k = 0; k < chunks.num_chunks(); ++k) {
        const auto chunk = chunks.chunk(k);
        ops.push_back(writer.round_masters(k, chunk));
        for (const auto& [unit, range] : chunk) {
            const bool is_whole =
                range.end == model.shards[unit].shard(model.spans.optimizer, model.data_rank).end;
            if (is_whole && unit == bucket.front().back()) {
                std::ranges::move(writer.publish(bucket.front()), std::back_inserter(ops));
                bucket.pop_front();
            }
        }
    }
}

namespace {

void delayed_update_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    publication_pass(draft, spec, model);
    auto& ops = draft.program.ops;
    UpdateWriter writer{draft, spec, model};
    ops.push_back(writer.step_end());
    const auto chunks = optimizer_chunks(spec, model);
    std::map<std::ptrdiff_t, std::vector<Op>, std::greater<>> updates;  // by position of the unit
    for (int k = 0; k < chunks.num_chunks(); ++k) {
        for (const auto& runs : ranges_of_updates(chunks.chunk(k), is_by_unit(spec))) {
            const auto position = std::ranges::find(model.units, runs.front().unit) - model.units.begin();
            updates[position].push_back(writer.update(k, runs, UpdatePart::delayed));
        }
    }
    for (auto& [position, of_unit] : updates) {
        std::ranges::move(of_unit, std::back_inserter(ops));
    }
}

}  // namespace

void optimizer_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.overlap.delayed_update) {
        delayed_update_pass(draft, spec, model);
        return;
    }
    auto& program = draft.program;
    UpdateWriter writer{draft, spec, model};
    const bool speculates = spec::speculates(spec);
    const bool is_in_backward = spec.overlap.optimizer_with_backward && !speculates;
    std::optional<LastUses> uses;
    std::optional<HostChunks> on_host;
    if (spec.overlap.optimizer_with_backward) {
        uses.emplace(program);
        on_host.emplace(draft, spec, model);
    }
    const auto chunks = optimizer_chunks(spec, model);
    auto bucket = publication_buckets(spec, model);
    std::vector<ListedOps> in_backward, at_end;
    OpId after_bucket = -1;
    for (int k = 0; k < chunks.num_chunks(); ++k) {
        for (const auto& runs : ranges_of_updates(chunks.chunk(k), uses.has_value())) {
            const OpId after = uses ? uses->of(runs.front().unit) : OpId{-1};
            if (speculates && on_host->contain(runs)) {
                const auto undo = writer.add_undo(k, runs);
                in_backward.push_back({after, {writer.update(k, runs, UpdatePart::speculative, undo)}});
                at_end.push_back({-1, {writer.update(k, runs, UpdatePart::commit, undo)}});
            } else {
                (is_in_backward ? in_backward : at_end)
                    .push_back({after, {writer.update(k, runs, UpdatePart::whole)}});
            }
            for (const auto& [unit, range] : runs) {
                const auto& shards = model.shards[unit];
                const bool is_whole = range.end == shards.shard(model.spans.optimizer, model.data_rank).end;
                after_bucket = std::max(after_bucket, after);
                if (is_whole && unit == bucket.front().back()) {
                    (is_in_backward ? in_backward : at_end)
                        .push_back({std::exchange(after_bucket, -1), writer.publish(bucket.front())});
                    bucket.pop_front();
                }
            }
        }
    }
    if (uses) {
        list_in_backward(program, writer.pass_on_inputs(), std::move(in_backward));
    }
    program.ops.push_back(writer.step_end());
    for (auto& listed : at_end) {
        std::ranges::move(listed.ops, std::back_inserter(program.ops));
    }
}

}  // namespace ziggurat::schedule
