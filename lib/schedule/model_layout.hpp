/// Layout of one rank: the mesh, the model's table, and the units that the rank holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/context/context_rows.hpp"
#include "layout/families/family.hpp"
#include "layout/flat_layout.hpp"
#include "layout/mesh.hpp"
#include "layout/shard_map.hpp"
#include "layout/state_kinds.hpp"
#include "layout/tiling.hpp"
#include "layout/unit_id.hpp"
#include "spec/run_spec.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::schedule {

using layout::UnitId;

/// Layout of one rank. It is computed one time per rank; all builders and passes read it.
///
/// A virtual stage is a contiguous range of units. Stage s of S holds the virtual stages s, s + S, s + 2S ...
/// as its chunks 0, 1, 2 ..., or s and 2S - 1 - s (spec::turns_back). The embedding belongs to the first
/// virtual stage, the head to the last.
/// layout::stage_layers assigns the layers.
struct ModelLayout {
    ModelLayout(const spec::RunSpec& spec, int rank);

    layout::Mesh mesh;
    layout::FamilyTable table;
    IndexedVector<UnitId, layout::FlatLayout> flats;        ///< by unit of the table
    IndexedVector<UnitId, layout::ShardMap> shards;         ///< by unit of the table: its trained region
    IndexedVector<UnitId, layout::ShardMap> frozen_shards;  ///< by unit of the table: its frozen region
    IndexedVector<UnitId, layout::UnitTiling> tilings;      ///< by unit of the table
    layout::Spans spans;
    int rank = 0;
    int tensor_rank = 0;  ///< coordinate of spec::Axis::tensor: of a grid, the column
    int tensor_row = 0;   ///< row of a grid of tensor ranks
    int context_rank = 0;
    int data_rank = 0;
    int sequence_group = 0;  ///< index of the ranks that share sequences, among parallel.sequence_groups
    /// Sequence group of layout::Value::is_turned values; of a cube, another one than sequence_group.
    ///
    /// The losses are turned values.
    int turned_group = 0;
    layout::ContextRows positions;  ///< of each sequence, that this rank has
    bool has_pairs = false;  ///< samples are pairs of answers, which all context ranks of a sequence have
    int stage = 0;
    int virtual_stages = 1;
    bool turns_back = false;  ///< see spec::turns_back
    int head_stage = 0;
    std::vector<std::vector<UnitId>> chunk_units;  ///< the units of each chunk of this stage
    /// Units whose state this rank holds, in order of first use. On the last of several stages, a tied head
    /// adds a copy of the embedding.
    std::vector<UnitId> units;
    /// Index of the first unit of the table with a trained tensor.
    ///
    /// Equals the size of the table if no tensor is trained; only evaluation programs are then built.
    UnitId first_trained_unit = 0;
    /// By phase of that unit: true if the phase's output depends on a trained tensor.
    std::vector<bool> depends_on_trained;
    bool is_tied = false;            ///< the head's product uses the embedding table
    bool embedding_on_host = false;  ///< see spec::Tiers::embedding_on_host
    bool is_cube = false;            ///< the tensor ranks are a cube (spec::Parallel::has_cube)
    std::int64_t tokens = 0;         ///< of a micro-batch on this rank, before sharding over the tensor axis
    int element_bytes = 4;           ///< of the compute type
    layout::Masters masters = layout::Masters::none;

    /// Returns the index of a chunk's virtual stage in the model.
    int virtual_stage(int chunk) const {
        return spec::virtual_stage(stage, chunk, mesh.degree(spec::Axis::pipeline), turns_back);
    }
    /// Returns the stage that has a virtual stage.
    int stage_of(int v) const { return spec::stage_of(v, mesh.degree(spec::Axis::pipeline), turns_back); }
    /// True if trained parameters have an additional master copy.
    bool has_master() const { return masters != layout::Masters::none; }
    /// Returns the number of ranks that divide the width of values: of a grid, its columns.
    int tensor() const { return mesh.degree(spec::Axis::tensor); }
    /// Returns the number of rows of a grid of tensor ranks; 1: there is no grid.
    int tensor_rows() const { return mesh.degree(spec::Axis::tensor_row); }
    bool has_grid() const { return tensor_rows() > 1; }
    /// Returns the groups of sequences whose tokens the products of a cube gather; 1 without a cube.
    int gathered_groups() const { return is_cube ? tensor() : 1; }
    /// Returns the tokens of a product of a micro-batch, which a cube or sequence parallelism gathers.
    std::int64_t product_rows() const { return tokens * gathered_groups(); }
    layout::TensorPosition tensor_position() const { return {tensor_rank, tensor_row}; }
    /// Returns the axis of the tensor ranks that divide the width of `value`.
    static spec::Axis width_axis(const layout::Value& value) {
        return value.is_turned ? spec::Axis::tensor_row : spec::Axis::tensor;
    }
    /// Returns the axis of the tensor ranks that divide its tokens, with sequence parallelism or in a cube.
    spec::Axis token_axis(const layout::Value& value) const {
        return is_cube && !value.is_turned ? spec::Axis::tensor_row : spec::Axis::tensor;
    }
    /// True if the head of this rank uses an embedding table whose original is on another stage.
    bool has_copy_of_embedding() const;
    /// True if this rank has gradients and optimizer state of the unit.
    ///
    /// False for a frozen unit, and for this rank's copy of the embedding if the table is frozen: a copy is
    /// used only for the table.
    bool trains(UnitId unit) const;
    /// Returns the part of the unit's flat range whose parameters this rank holds.
    layout::ElementRange held(UnitId unit) const;
    const layout::UnitTiling& tiling(UnitId unit) const { return tilings.at(unit); }
    /// True if ops use the unit's state on the host. Only a tied head uses it on the device, in copies.
    bool stays_on_host(UnitId unit) const;
    /// True if the gradient of the unit is a sum over the first and the last stage: a tied table.
    bool is_shared_by_stages(UnitId unit) const;
    /// True if backward runs through the unit: it is not below the first unit with a trained tensor.
    bool runs_backward(UnitId unit) const { return unit >= first_trained_unit; }
    /// True if backward runs through the phase.
    bool runs_backward(UnitId unit, int phase) const {
        return unit > first_trained_unit || (unit == first_trained_unit && depends_on_trained.at(phase));
    }
    /// True if the gradient of the phase's input is needed, because a tensor before it is trained.
    bool passes_gradient_on(UnitId unit, int phase) const;
    /// True if the rank of this layout is the one that counts `parameter` of `unit` in sums over all ranks.
    ///
    /// Replicas over the tensor axis and copies on other stages count one time.
    bool counts(UnitId unit, int parameter) const;
    /// Returns the ranges of a unit's trained region that this rank counts in sums over all ranks.
    ///
    /// Together, the ranges of all ranks have each element of the unit once.
    std::vector<layout::ElementRange> counted_ranges(UnitId unit) const;
    /// True if the losses and targets of this rank's micro-batches count in sums over all ranks.
    ///
    /// The stage of the head counts. Its ranks with the same targets compute the same losses, so only one of
    /// them counts.
    bool counts_losses() const;
    /// True if this rank is the first of those that have the same targets, or the same pairs of answers.
    bool counts_targets() const {
        return (is_cube ? tensor_row : tensor_rank) == 0 && (context_rank == 0 || !has_pairs);
    }
    /// Returns the number of tensor ranks that hold the same slice of `parameter`.
    int slice_holders(const layout::Parameter& parameter) const;
    /// Returns the world ranks of this rank's tensor group that hold the same slice of `parameter`.
    ///
    /// The result includes this rank.
    std::vector<int> slice_members(const layout::Parameter& parameter) const;
    /// Returns the world ranks of `layout::data_group(data_rank, inner, span)`.
    std::vector<int> data_members(int inner, int span) const;
    /// Returns the name of that group.
    std::string data_group_name(int inner, int span) const;
};

}  // namespace ziggurat::schedule
