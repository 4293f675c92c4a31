#include "schedule/passes/save_ring_pass.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "schedule/expand/expand.hpp"
#include "schedule/passes/optimizer_pass.hpp"
#include "schedule/passes/saved_runs.hpp"

namespace ziggurat::schedule {
namespace {

using SavedOfUnits = std::map<int, std::vector<SavedRun>>;  ///< by unit

/// Returns the saved state on NVMe that each step changes, by unit.
SavedOfUnits passing(const ModelLayout& model, const Program& program) {
    SavedOfUnits on_nvme;
    for (const auto& saved : saved_runs(model, program)) {
        const auto& home = program.buffers[saved.buffer];
        if (home.tier == spec::Tier::nvme && !layout::is_of_frozen(home.state)) {
            on_nvme[home.unit].push_back(saved);
        }
    }
    return on_nvme;
}

/// Adds the part of `saved` that the range `run` of an operand in `staged` holds.
void add_passing(const Program& program,
                 OpId op,
                 const SavedRun& saved,
                 int staged,
                 ByteRange run,
                 std::vector<StreamedRange>& runs) {
    const auto& home = program.buffers[saved.buffer];
    const auto& here = program.buffers[staged];
    const std::int64_t width = element_bytes(here);
    const auto begin = here.first_element + run.offset / width;
    const auto first = std::max(begin, saved.elements.begin);
    const auto last = std::min(begin + run.bytes / width, saved.elements.end);
    if (first < last) {
        runs.push_back({op,
                        saved.buffer,
                        {(first - home.first_element) * width, (last - first) * width},
                        staged,
                        (first - here.first_element) * width});
    }
}

bool is_on_device(const Program& program, const Op& op) {
    return program.lanes[op.lane].engine == Engine::compute;
}

bool changes(const Op& op, BufferId buffer) {
    return std::ranges::any_of(op.writes, [&](const Operand& written) { return written.buffer == buffer; });
}

/// Returns the ranges that updates have in memory and change; `op` is the update.
std::vector<StreamedRange> runs_of_updates(const ModelLayout& model, const Program& program) {
    const auto on_nvme = passing(model, program);
    std::vector<StreamedRange> runs;
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        const auto& op = program.ops[i];
        if (op.kind != OpKind::update || op.predicate) {
            continue;
        }
        for (const auto& operand : op.reads) {
            if (!changes(op, operand.buffer)) {
                continue;
            }
            const auto& here = program.buffers[operand.buffer];
            const auto of_unit = on_nvme.find(here.unit);
            if (of_unit == on_nvme.end()) {
                continue;
            }
            for (const auto& saved : of_unit->second) {
                if (program.buffers[saved.buffer].state != here.state) {
                    continue;
                }
                for (const auto& run : operand.runs) {
                    add_passing(program, i, saved, operand.buffer, run, runs);
                }
            }
        }
    }
    return runs;
}

/// Adds a copy to the host before each update of the device that loads saved state.
///
/// Ops on different lanes use the slots of the ring in turn: each waits for the previous one.
void let_pass(Program& program, const ModelLayout& model, int ring) {
    std::map<int, std::vector<StreamedRange>> of_update;
    for (const auto& run : runs_of_updates(model, program)) {
        of_update[run.op].push_back(run);
    }
    const auto op_at = [&](int i) -> Op& { return program.ops[i]; };
    const bool are_all_on_host = std::ranges::none_of(
        of_update, [&](const auto& update) { return is_on_device(program, op_at(update.first)); });
    if (are_all_on_host) {
        return;  // one lane
    }
    std::vector<Op> ops;
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        const auto passes = of_update.find(i);
        if (passes != of_update.end() && is_on_device(program, op_at(i))) {
            Op copy;
            copy.kind = OpKind::copy;
            copy.lane = program.control_lane(Engine::device_to_host);
            copy.purpose = Purpose::checkpoint;
            copy.chunk = op_at(i).chunk;
            copy.label = "state of chunk " + std::to_string(copy.chunk) + " for a checkpoint";
            for (const auto& run : passes->second) {
                copy.reads.push_back({run.staged, Role::input, {{run.staged_offset, run.at_home.bytes}}});
            }
            copy.writes.push_back(whole(program, ring, Role::passing));
            ops.push_back(std::move(copy));
        } else if (passes != of_update.end()) {
            op_at(i).writes.push_back(whole(program, ring, Role::passing));
        }
        ops.push_back(std::move(op_at(i)));
    }
    program.ops = std::move(ops);
}

}  // namespace

std::vector<StreamedRange> streamed_ranges(const ModelLayout& model, const Program& program) {
    auto runs = runs_of_updates(model, program);
    for (auto& run : runs) {
        if (is_on_device(program, program.ops[run.op])) {
            --run.op;
        }
    }
    return runs;
}

std::int64_t bytes_held(const std::vector<StreamedRange>& ranges) {
    std::map<int, std::int64_t> smallest;  // by buffer: offset among the later ranges
    std::int64_t held = 0;
    for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
        const auto [known, is_last] = smallest.try_emplace(range->home, range->at_home.offset);
        held += known->second < range->at_home.offset ? range->at_home.bytes : 0;
        known->second = std::min(known->second, range->at_home.offset);
    }
    return held;
}

void save_ring_pass(Program& program, const spec::RunSpec& spec, const ModelLayout& model) {
    const auto on_nvme = passing(model, program);
    if (on_nvme.empty()) {
        return;
    }
    const auto chunks = optimizer_chunks(spec, model);
    std::int64_t max = 0;
    for (int k = 0; k < chunks.num_chunks(); ++k) {
        std::int64_t bytes = 0;
        for (const auto& [unit, range] : chunks.chunk(k)) {
            const auto of_unit = on_nvme.find(unit);
            if (of_unit == on_nvme.end()) {
                continue;
            }
            for (const auto& saved : of_unit->second) {
                const auto& home = program.buffers[saved.buffer];
                const auto elements =
                    std::min(range.end, saved.elements.end) - std::max(range.begin, saved.elements.begin);
                if (elements > 0) {
                    bytes += elements * element_bytes(home);
                }
            }
        }
        max = std::max(max, bytes);
    }
    Buffer ring;
    ring.name = "save ring";
    ring.tier = spec::Tier::host;
    ring.lifetime = Lifetime::persistent;
    ring.consumer = MemoryCategory::snapshot;
    ring.bytes = save_ring_slots * max;
    program.trainer_buffers.save_ring = program.add_buffer(std::move(ring));
    if (program.variant == Variant::train) {
        let_pass(program, model, program.trainer_buffers.save_ring);
    }
}

}  // namespace ziggurat::schedule
