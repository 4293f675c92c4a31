#include "schedule/passes/optimizer_pass.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <unordered_set>

#include "base/contract.hpp"
#include "schedule/residency/homes.hpp"

namespace ziggurat::schedule {
namespace {

class UpdateWriter {
  public:
    UpdateWriter(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : draft_{draft}, spec_{spec}, model_{model} {}

    void step_end() {
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
        op.writes.push_back(whole(program, program.trainer_buffers.update_inputs, Role::update_inputs));
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
        program.ops.push_back(std::move(op));
    }

    void update(int chunk, const std::vector<layout::UnitRange>& runs) {
        auto& program = draft_.program;
        Op op;
        op.kind = OpKind::update;
        op.chunk = chunk;
        op.label = "update of chunk " + std::to_string(chunk);
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
            both(model_.has_master ? state[StateKind::master] : parameters, Role::master);
            both(state[StateKind::first_moment], Role::first_moment);
            both(state[StateKind::second_moment], Role::second_moment);
            if (spec_.train.average.is_on()) {
                both(state[StateKind::average], Role::average);
            }
            if (model_.has_master) {
                op.writes.push_back({parameters, Role::parameters, {run_in(parameters, range)}});
            }
        }
        op.reads.push_back(whole(program, program.trainer_buffers.update_inputs, Role::update_inputs));
        program.ops.push_back(std::move(op));
    }

    void publish(const std::vector<UnitId>& units) {
        const int inner = model_.spans.parameters;
        const int span = model_.spans.optimizer;
        if (inner == span) {
            return;
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
        program.ops.push_back(std::move(op));
    }

  private:
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

void optimizer_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    UpdateWriter writer{draft, spec, model};
    writer.step_end();
    const auto chunks = optimizer_chunks(spec, model);
    auto bucket = publication_buckets(spec, model);
    for (int k = 0; k < chunks.num_chunks(); ++k) {
        const auto runs = chunks.chunk(k);
        writer.update(k, runs);
        for (const auto& [unit, range] : runs) {
            const auto& shards = model.shards[unit];
            const bool is_whole = range.end == shards.shard(model.spans.optimizer, model.data_rank).end;
            if (is_whole && unit == bucket.front().back()) {
                writer.publish(bucket.front());
                bucket.pop_front();
            }
        }
    }
}

}  // namespace ziggurat::schedule
