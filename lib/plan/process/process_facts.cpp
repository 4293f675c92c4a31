#include "plan/process/process_facts.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "layout/node_groups.hpp"
#include "layout/staging/staging_sizes.hpp"
#include "schedule/expand/expand.hpp"
#include "schedule/passes/save_ring_pass.hpp"
#include "schedule/passes/saved_runs.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Op;
using schedule::Program;

void add_piece(ProcessFacts& facts, std::int64_t bytes) {
    ++facts.pieces;
    facts.blocks += (bytes + layout::hash_block_bytes - 1) / layout::hash_block_bytes;
    facts.kept_bytes += layout::kept_bytes(bytes);
    facts.saved_bytes += bytes;
    facts.largest_piece_bytes = std::max(facts.largest_piece_bytes, bytes);
}

/// Adds the boxes of elements [begin, end) in rows of `width` elements.
///
/// They are parts of rows at both ends, and whole rows.
void add_boxes(
    ProcessFacts& facts, std::int64_t begin, std::int64_t end, std::int64_t width, int element_bytes) {
    const auto first_whole = (begin + width - 1) / width * width;
    const auto last_whole = end / width * width;
    if (first_whole > last_whole) {
        add_piece(facts, (end - begin) * element_bytes);  // within a row
        return;
    }
    for (const auto elements : {first_whole - begin, last_whole - first_whole, end - last_whole}) {
        if (elements > 0) {
            add_piece(facts, elements * element_bytes);
        }
    }
}

/// Returns the extents of a rank's slice of a tensor without padding rows, which are not saved.
std::vector<std::int64_t> saved_extents(const schedule::ModelLayout& model,
                                        const layout::Parameter& parameter) {
    auto extents = layout::local_extents(parameter, model.tensor());
    if (parameter.valid_rows >= 0) {
        const auto rows = extents.front();
        const auto before = layout::local_begin(parameter, model.tensor(), model.tensor_position()).front();
        extents.front() = std::clamp<std::int64_t>(parameter.valid_rows - before, 0, rows);
    }
    return extents;
}

/// Adds the pieces of the tensors that one saved range of a buffer covers.
void add_pieces(ProcessFacts& facts,
                const schedule::ModelLayout& model,
                const schedule::Buffer& buffer,
                const layout::ElementRange& range) {
    const auto& parameters = model.table.units[buffer.unit].parameters;
    for (int p = 0; p < std::ssize(parameters); ++p) {
        const auto extents = saved_extents(model, parameters[p]);
        std::int64_t width = 1;
        for (std::size_t dim = 1; dim < extents.size(); ++dim) {
            width *= extents[dim];
        }
        const auto placed = model.flats[buffer.unit].parameter(p);
        const auto begin = std::max(range.begin, placed.begin);
        const auto end = std::min(range.end, placed.begin + extents.front() * width);
        if (begin < end && model.counts(buffer.unit, p)) {
            add_boxes(facts, begin - placed.begin, end - placed.begin, width,
                      schedule::element_bytes(buffer));
        }
    }
}

/// Returns the pieces of all ranks of one kind of state, from the units of this rank.
///
/// A cut of a tensor between two data ranks makes two boxes more.
std::int64_t pieces_of_a_kind(const schedule::ModelLayout& model) {
    constexpr std::int64_t boxes_of_a_cut = 2;
    std::int64_t pieces = 0;
    for (const auto unit : model.units) {
        for (const auto& parameter : model.table.units[unit].parameters) {
            pieces += model.tensor() * model.tensor_rows() / model.slice_holders(parameter);
        }
        const auto cuts = std::min<std::int64_t>(model.spans.data - 1,
                                                 model.flats[unit].elements() / layout::FlatLayout::block);
        pieces += boxes_of_a_cut * model.tensor() * model.tensor_rows() * cuts;
    }
    return pieces * model.mesh.degree(spec::Axis::pipeline);
}

/// True if the sum's vectors are in the device tier and NCCL adds them.
bool is_summed_by_nccl(const spec::RunSpec& spec, const Program& program, const Op& op) {
    return spec.tiers.device == spec::DeviceKind::cuda && spec.parallel.transport == spec::Transport::nccl &&
           !op.reads.empty() && program.buffers[op.reads.front().buffer].tier == spec::Tier::device;
}

std::int64_t sum_staging_bytes(const spec::RunSpec& spec, const Program& program) {
    const auto node_of = layout::nodes_in_a_row(spec.parallel.ranks,
                                                std::max(spec.parallel.ranks_per_node, 1), spec.debug.nodes);
    std::set<int> groups;
    for (const auto& op : program.ops) {
        if (schedule::is_sum(op.kind) && op.group >= 0 && !is_summed_by_nccl(spec, program, op)) {
            groups.insert(op.group);
        }
    }
    std::int64_t bytes = 0;
    for (const int g : groups) {
        const auto& group = program.groups[static_cast<std::size_t>(g)];
        const bool is_on_one_node = std::ranges::all_of(group.members, [&](int member) {
            return node_of.at(static_cast<std::size_t>(member)) ==
                   node_of.at(static_cast<std::size_t>(group.members.front()));
        });
        bytes += is_on_one_node ? 0 : layout::MessageStaging::bytes(group.size());
    }
    return bytes;
}

}  // namespace

void ProcessFacts::add_training(const spec::RunSpec& spec,
                                const schedule::ModelLayout& model,
                                const Program& program) {
    message_bytes += sum_staging_bytes(spec, program);
    std::set<schedule::StateKind> kinds;
    for (const auto& saved : schedule::saved_runs(model, program)) {
        const auto& buffer = program.buffers[saved.buffer];
        kinds.insert(buffer.state);
        add_pieces(*this, model, buffer, saved.elements);
    }
    if (program.trainer_buffers.save_ring >= 0) {
        kept_bytes += schedule::bytes_held(schedule::streamed_ranges(model, program));
    }
    pieces_of_all_ranks = std::ssize(kinds) * pieces_of_a_kind(model);
}

void ProcessFacts::scale_state(double larger) {
    for (auto* count : {&pieces, &blocks, &kept_bytes, &saved_bytes, &pieces_of_all_ranks}) {
        *count = std::llround(static_cast<double>(*count) * larger);
    }
}

}  // namespace ziggurat::plan
