#include "schedule/passes/optimizer_pass.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "schedule/passes/update_writer.hpp"
#include "schedule/residency/homes.hpp"
#include "schedule/residency/updates_in_backward.hpp"
#include "spec/depths.hpp"

namespace ziggurat::schedule {
namespace {

/// Returns buckets of consecutive units, in order of first use; one collective publishes a bucket.
///
/// A unit that stays on the host has its own bucket, because its collective runs there.
std::deque<std::vector<UnitId>> publication_buckets(const spec::RunSpec& spec, const ModelLayout& model) {
    std::deque<std::vector<UnitId>> buckets;
    std::int64_t elements = 0;
    bool was_alone = false;
    for (const UnitId u : model.units) {
        if (!model.trains(u)) {
            continue;
        }
        const auto size = model.shards[u].padded_elements();
        const bool is_alone = was_alone || model.stays_on_host(u);
        if (buckets.empty() || is_alone || elements + size > spec.overlap.bucket_elements) {
            buckets.emplace_back();
            elements = 0;
        }
        buckets.back().push_back(u);
        elements += size;
        was_alone = model.stays_on_host(u);
    }
    return buckets;
}

/// True if updates of a chunk are listed by unit, because an embedding stays on the host.
///
/// A chunk is updated in one tier, so the others would follow the embedding there.
bool divides_chunks(const spec::RunSpec& spec, const ModelLayout& model) {
    return model.embedding_on_host && spec.tiers.optimizer.device > 0;
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
        for (const auto& runs : ranges_of_updates(chunks.chunk(k), divides_chunks(spec, model))) {
            ops.push_back(writer.round_masters(k, runs));
            for (const auto& [unit, range] : runs) {
                const bool is_whole =
                    range.end == model.shards[unit].shard(model.spans.optimizer, model.data_rank).end;
                if (is_whole && unit == bucket.front().back()) {
                    std::ranges::move(writer.publish(bucket.front()), std::back_inserter(ops));
                    bucket.pop_front();
                }
            }
        }
    }
}

namespace {

/// Appends the ops that clip each unit by its own norm, after step_end.
void add_unit_clips(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.optimizer.clip != spec::ClipPolicy::per_unit) {
        return;
    }
    for (const UnitId u : model.units) {
        if (model.trains(u)) {
            draft.program.ops.push_back(unit_clip(draft, model, u));
        }
    }
}

void delayed_update_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    publication_pass(draft, spec, model);
    auto& ops = draft.program.ops;
    UpdateWriter writer{draft, spec, model};
    ops.push_back(writer.step_end());
    add_unit_clips(draft, spec, model);
    const auto chunks = optimizer_chunks(spec, model);
    std::map<std::ptrdiff_t, std::vector<Op>, std::greater<>> updates;  // by position of the unit
    for (int k = 0; k < chunks.num_chunks(); ++k) {
        for (const auto& runs : ranges_of_updates(chunks.chunk(k), updates_by_unit(spec))) {
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
    std::optional<UpdateHomes> homes;
    if (spec.overlap.optimizer_with_backward) {
        uses.emplace(program);
        homes.emplace(draft, spec, model);
    }
    const auto chunks = optimizer_chunks(spec, model);
    const bool divides = updates_by_unit(spec) || divides_chunks(spec, model);
    auto bucket = publication_buckets(spec, model);
    std::vector<ListedOps> in_backward, at_end;
    OpId after_bucket = -1;
    for (int k = 0; k < chunks.num_chunks(); ++k) {
        for (const auto& runs : ranges_of_updates(chunks.chunk(k), divides)) {
            const OpId after = uses ? uses->of(runs.front().unit) : OpId{-1};
            if (speculates && homes->is_on_host(runs)) {
                const auto undo = writer.add_undo(k, runs, homes->is_on_nvme(runs));
                in_backward.push_back({after, {writer.update(k, runs, UpdatePart::speculative, undo)}});
                at_end.push_back({-1, {writer.update(k, runs, UpdatePart::redo, undo)}});
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
    if (!clips_in_backward(spec)) {
        add_unit_clips(draft, spec, model);
    }
    for (auto& listed : at_end) {
        std::ranges::move(listed.ops, std::back_inserter(program.ops));
    }
}

}  // namespace ziggurat::schedule
