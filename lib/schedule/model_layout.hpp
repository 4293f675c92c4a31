/// Layout of one rank: the mesh, the model's table, and the units that this rank holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/family.hpp"
#include "layout/flat_layout.hpp"
#include "layout/mesh.hpp"
#include "layout/shard_map.hpp"
#include "layout/tiling.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Computed once per rank and read by all builders and passes.
///
/// A virtual stage is a run of units; stage s of S holds the virtual stages s, s + S, s + 2S ... as its
/// chunks 0, 1, 2 ... The embedding belongs to the first, the head to the last; layers as
/// layout::stage_layers says.
struct ModelLayout {
    ModelLayout(const spec::RunSpec& spec, int rank);

    layout::Mesh mesh;
    layout::FamilyTable table;
    std::vector<layout::FlatLayout> flats;        ///< by unit of the table
    std::vector<layout::ShardMap> shards;         ///< by unit of the table: its trained region
    std::vector<layout::ShardMap> frozen_shards;  ///< by unit of the table: what only parameters have
    std::vector<layout::UnitTiling> tilings;      ///< by unit of the table
    layout::Spans spans;
    int rank = 0;
    int tensor_rank = 0;
    int context_rank = 0;
    int data_rank = 0;
    int stage = 0;
    int virtual_stages = 1;
    std::vector<std::vector<int>> chunk_units;  ///< the units of each chunk of this stage
    /// Units whose state this rank holds, in order of first use. On the last of several stages a tied head
    /// brings a copy of the embedding with it.
    std::vector<int> units;
    /// Of the table: the first with a tensor that is not frozen; its size when nothing is trained, which only
    /// a program that evaluates is built for.
    int first_trained_unit = 0;
    /// Of that unit, by phase: whether its output depends on such a tensor.
    std::vector<bool> depends_on_trained;
    bool is_tied = false;     ///< the head's product uses the embedding table
    std::int64_t tokens = 0;  ///< of a micro-batch on this rank, before any cut over the tensor axis
    int element_bytes = 4;    ///< of the compute type
    bool has_master = false;  ///< trained parameters have a master beside them

    /// Index of a chunk's virtual stage in the model.
    int virtual_stage(int chunk) const { return chunk * mesh.degree(spec::Axis::pipeline) + stage; }
    /// Degree of the tensor axis.
    int tensor() const { return mesh.degree(spec::Axis::tensor); }
    /// True where the head of this rank uses an embedding table of which another stage has the original.
    bool has_copy_of_embedding() const;
    /// Whether this rank has gradients and optimizer state of the unit. It has none of a unit that is frozen,
    /// nor of its copy of the embedding when the table is: nothing else of a copy is used.
    bool trains(int unit) const;
    /// The part of the unit's flat range that this rank has parameters of.
    layout::ElementRange held(int unit) const;
    const layout::UnitTiling& tiling(int unit) const { return tilings.at(static_cast<std::size_t>(unit)); }
    /// Whether the gradient of the unit is a sum of halves on the first and the last stage: a tied table.
    bool is_shared_by_stages(int unit) const;
    /// Whether the unit takes part in backward: not below the first unit with a trained tensor.
    bool runs_backward(int unit) const { return unit >= first_trained_unit; }
    /// The same of a phase.
    bool runs_backward(int unit, int phase) const {
        return unit > first_trained_unit ||
               (unit == first_trained_unit && depends_on_trained.at(static_cast<std::size_t>(phase)));
    }
    /// Whether somebody asks for the gradient of the phase's input: something before it is trained.
    bool passes_gradient_on(int unit, int phase) const;
    /// Whether the world rank of this layout is the one that counts `parameter` of `unit` in sums over all
    /// ranks: replicas over the tensor and context axes and copies on other stages count once.
    bool counts(int unit, int parameter) const;
    /// Whether losses and targets of this rank's micro-batches count in sums over all ranks: on the last
    /// stage, where ranks of the tensor axis make the same ones, so that those of one count.
    bool counts_losses() const;
    /// World ranks of this rank's tensor axis that hold the same slice of `parameter`, itself among them.
    std::vector<int> slice_members(const layout::Parameter& parameter) const;
    /// World ranks of `layout::data_group(data_rank, inner, span)`, and their name.
    std::vector<int> data_members(int inner, int span) const;
    std::string data_group_name(int inner, int span) const;
};

}  // namespace ziggurat::schedule
