#include "schedule/model_layout.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "layout/stage_layers.hpp"
#include "layout/state_kinds.hpp"
#include "spec/tile_rules.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Axis;

/// Returns the virtual stage of each unit of the table.
std::vector<int> virtual_stage_of_units(const spec::RunSpec& spec, int virtual_stages) {
    const auto layers = layout::stage_layers(spec);
    ZG_EXPECTS(std::ssize(layers) == virtual_stages);
    std::vector<int> stage_of{0};
    for (int v = 0; v < virtual_stages; ++v) {
        stage_of.insert(stage_of.end(), layers[v], v);
    }
    stage_of.push_back(virtual_stages - 1);
    return stage_of;
}

bool is_written(const layout::Phase& phase, int value) {
    return std::any_of(phase.writes.begin(), phase.writes.end(),
                       [&](const layout::ValueUse& use) { return use.value == value; });
}

/// Returns, by phase of a unit, true if its output depends on a trained tensor of the unit.
std::vector<bool> phases_after_trained(const layout::Unit& unit) {
    const auto is_trained = [&](const layout::ParameterUse& use) {
        return use.unit < 0 && unit.parameters[use.parameter].is_trained;
    };
    std::vector<bool> depends(unit.phases.size());
    const auto reads_such = [&](const layout::ValueUse& use) {
        for (std::size_t p = 0; p < unit.phases.size(); ++p) {
            if (depends[p] && is_written(unit.phases[p], use.value)) {
                return true;
            }
        }
        return false;
    };
    for (std::size_t p = 0; p < unit.phases.size(); ++p) {
        const auto& phase = unit.phases[p];
        depends[p] = std::any_of(phase.parameters.begin(), phase.parameters.end(), is_trained) ||
                     std::any_of(phase.reads.begin(), phase.reads.end(), reads_such);
    }
    return depends;
}

}  // namespace

ModelLayout::ModelLayout(const spec::RunSpec& spec, int world_rank)
    : mesh{spec.parallel},
      table{layout::family_table(spec)},
      spans{spec.sharding.parameters, spec.sharding.gradients, spec.sharding.optimizer, spec.parallel.data},
      rank{world_rank},
      tensor_rank{mesh.coordinate(Axis::tensor, world_rank)},
      tensor_row{mesh.coordinate(Axis::tensor_row, world_rank)},
      context_rank{mesh.coordinate(Axis::context, world_rank)},
      data_rank{mesh.coordinate(Axis::data, world_rank)},
      sequence_group{data_rank / spec.parallel.context * spec.parallel.tensor_rows + tensor_row},
      turned_group{spec.parallel.has_cube() ? sequence_group - tensor_row + tensor_rank : sequence_group},
      positions{layout::context_rows(spec.parallel, context_rank, spec.data.seq)},
      has_pairs{spec.data.has_pairs},
      stage{mesh.coordinate(Axis::pipeline, world_rank)},
      virtual_stages{spec.parallel.stages * spec.parallel.chunks_per_stage},
      turns_back{spec::turns_back(spec.parallel)},
      head_stage{spec::last_stage(spec.parallel)},
      chunk_units(spec.parallel.chunks_per_stage),
      is_tied{spec.model.tie_embeddings},
      embedding_on_host{spec.tiers.embedding_on_host},
      is_cube{spec.parallel.has_cube()},
      tokens{spec.train.micro_batch * positions.size},
      element_bytes{spec::element_bytes(spec.precision.compute)},
      masters{layout::masters_of(spec)} {
    const auto virtual_stage_of = virtual_stage_of_units(spec, virtual_stages);
    ZG_ENSURES(virtual_stage_of.size() == table.units.size());
    for (std::size_t u = 0; u < table.units.size(); ++u) {
        flats.emplace_back(table.units[u], tensor(), spans.data);
        shards.emplace_back(flats.back().trained_elements(), spans);
        frozen_shards.emplace_back(flats.back().frozen_elements(), spans, flats.back().trained_elements());
        if (stage_of(virtual_stage_of[u]) == stage) {
            const std::size_t chunk = virtual_stage_of[u] / spec.parallel.stages;
            chunk_units[chunk].push_back(static_cast<int>(u));
            units.push_back(static_cast<int>(u));
        }
    }
    tilings = layout::tilings(spec.tiers, table, flats);
    ZG_EXPECTS(!spec::is_table_whole(spec) || !(tilings.front().is_cut() || tilings.back().is_cut()));
    const auto trained = std::find_if(flats.begin(), flats.end(), [](const layout::FlatLayout& flat) {
        return flat.trained_elements() > 0;
    });
    first_trained_unit = static_cast<int>(trained - flats.begin());
    if (trained != flats.end()) {
        depends_on_trained = phases_after_trained(table.units[first_trained_unit]);
    }
    if (stage == head_stage && spec.model.tie_embeddings && units.front() != 0) {
        units.push_back(0);
    }
}

bool ModelLayout::has_copy_of_embedding() const {
    return stage != 0 && std::find(units.begin(), units.end(), 0) != units.end();
}

bool ModelLayout::trains(UnitId unit) const {
    const bool is_copy = unit == 0 && has_copy_of_embedding();
    if (is_copy && !table.units.front().parameters.front().is_trained) {
        return false;
    }
    return flats.at(unit).trained_elements() > 0;
}

layout::ElementRange ModelLayout::held(UnitId unit) const {
    const auto& flat = flats.at(unit);
    return {trains(unit) ? 0 : flat.trained_elements(), flat.padded_elements()};
}

bool ModelLayout::passes_gradient_on(UnitId unit, int phase) const {
    if (unit != first_trained_unit) {
        return runs_backward(unit, phase);
    }
    const auto& phases = table.units.at(unit).phases;
    const auto& reads = phases.at(phase).reads;
    for (std::size_t p = 0; p < phases.size(); ++p) {
        if (!reads.empty() && depends_on_trained.at(p) && is_written(phases[p], reads.front().value)) {
            return true;
        }
    }
    return false;
}

bool ModelLayout::stays_on_host(UnitId unit) const {
    return embedding_on_host && table.units.at(unit).kind == layout::UnitKind::embedding;
}

bool ModelLayout::is_shared_by_stages(UnitId unit) const {
    const bool has_other_half = is_tied && head_stage != 0;
    return unit == 0 && has_other_half && table.units.front().parameters.front().is_trained;
}

bool ModelLayout::counts(UnitId unit, int parameter) const {
    const auto& described = table.units.at(unit).parameters.at(parameter);
    const bool is_first_holder = tensor_rank % layout::ranks_per_slice(described, tensor()) == 0 &&
                                 (described.row_slices > 1 || tensor_row == 0);
    const bool is_copy = unit == 0 && has_copy_of_embedding();
    return !is_copy && is_first_holder;
}

std::vector<layout::ElementRange> ModelLayout::counted_ranges(UnitId unit) const {
    const auto piece = shards[unit].shard(spans.data, data_rank);
    const auto& parameters = table.units[unit].parameters;
    bool counts_all = true;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        counts_all = counts_all && (!parameters[p].is_trained || counts(unit, static_cast<int>(p)));
    }
    if (counts_all) {
        return {piece};
    }
    std::vector<layout::ElementRange> ranges;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const auto range = intersection(piece, flats[unit].parameter(static_cast<int>(p)));
        if (counts(unit, static_cast<int>(p)) && !range.empty()) {
            ranges.push_back(range);
        }
    }
    return ranges;
}

bool ModelLayout::counts_losses() const {
    return stage == head_stage && counts_targets();
}

std::vector<int> ModelLayout::slice_members(const layout::Parameter& parameter) const {
    const int holders = layout::ranks_per_slice(parameter, tensor());
    const auto row = mesh.group(Axis::tensor, rank);
    const auto first = row.begin() + tensor_rank / holders * holders;
    std::vector<int> members;
    for (auto member = first; member != first + holders; ++member) {
        const auto column =
            parameter.row_slices > 1 ? std::vector{*member} : mesh.group(Axis::tensor_row, *member);
        members.insert(members.end(), column.begin(), column.end());
    }
    std::ranges::sort(members);
    return members;
}

int ModelLayout::slice_holders(const layout::Parameter& parameter) const {
    return layout::ranks_per_slice(parameter, tensor()) * (parameter.row_slices > 1 ? 1 : tensor_rows());
}

std::vector<int> ModelLayout::data_members(int inner, int span) const {
    std::vector<int> members;
    for (const int member : layout::data_group(data_rank, inner, span)) {
        members.push_back(mesh.neighbour(Axis::data, rank, member));
    }
    return members;
}

std::string ModelLayout::data_group_name(int inner, int span) const {
    if (inner == 1 && span == spans.data) {
        return "data";
    }
    return "data " + std::to_string(inner) + "-" + std::to_string(span);
}

}  // namespace ziggurat::schedule
