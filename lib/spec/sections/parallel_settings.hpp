/// Settings of the distribution over ranks: axes of ranks, and ZeRO shard degrees.
#pragma once

#include <cstdint>
#include <vector>

namespace ziggurat::spec {

/// Axes of ranks. `tensor_row` is the part of the tensor axis along which a grid has rows.
enum class Axis { tensor, context, data, pipeline, tensor_row };
enum class TensorMode { one_d, two_d, two_and_half_d, three_d };
enum class ContextKind { ring, ulysses };
enum class PipelineSchedule { gpipe, one_f_one_b, interleaved, zero_bubble, zero_bubble_half, pipedream };

/// Transport of GPU buffers between ranks: through host memory, or NCCL.
enum class Transport { staged, nccl };

struct Parallel {
    int ranks = 1;
    int ranks_per_node = 1;
    /// Ranks that divide the width of values: the tensor degree in mode 1d, the columns of a tensor grid.
    int tensor = 1;
    TensorMode tensor_mode = TensorMode::one_d;
    int tensor_rows = 1;   ///< rows of a tensor grid, each with sequences of its own
    int tensor_depth = 1;  ///< modes 2.5d, 3d: number of copies of the grid, which are a part of `data`
    bool sequence = false;
    int context = 1;
    ContextKind context_kind = ContextKind::ring;
    int stages = 1;
    PipelineSchedule pipeline_schedule = PipelineSchedule::one_f_one_b;
    int chunks_per_stage = 1;
    /// Decoder layers of each virtual stage, in model order.
    ///
    /// Virtual stage v is a chunk of stage v % stages. Empty: layout::stage_layers distributes layers by
    /// cost.
    std::vector<std::int64_t> stage_layers;
    /// Ranks with the same slice of the model: the data degree of the deck times `context` and
    /// `tensor_depth`. Consecutive `context` of them share sequences; state is sharded over all of them.
    int data = 1;
    std::vector<Axis> order = {Axis::tensor, Axis::context, Axis::data, Axis::pipeline};  ///< innermost first
    int threads = 1;  ///< host threads of a rank's compute lane
    Transport transport = Transport::staged;

    /// Returns the number of ranks of a tensor group, without copies of a grid.
    int tensor_ranks() const { return tensor * tensor_rows; }
    /// True if tensor ranks are a grid, which divides both extents of each weight.
    bool has_grid() const { return tensor_rows > 1; }
    /// True if the grid is a layer of a cube, whose layers (the copies) divide each weight among them.
    bool has_cube() const { return has_grid() && tensor_mode == TensorMode::three_d; }
    /// Returns the minimum number of data ranks over which state is sharded: the layers of a cube, or 1.
    int min_span() const { return has_cube() ? tensor_depth : 1; }
    /// Returns the tensor degree of the deck.
    int tensor_degree() const { return tensor_ranks() * tensor_depth; }
    /// Returns the data degree of the deck.
    int data_degree() const { return data / (context * tensor_depth); }
    /// Returns the number of groups of ranks with sequences of their own.
    int sequence_groups() const { return data / context * tensor_rows; }

    bool operator==(const Parallel&) const = default;
};

enum class ReducePlan { at_end, each_microbatch, by_span };

/// Lifetime of gathered parameters: one pass of one micro-batch, or until the end of the step.
enum class LeaseSpan { pass, step };

/// Shard degrees: the number of consecutive data ranks over which each kind of state is sharded.
///
/// 1 <= p <= g <= o <= d, and each divides the next.
struct Sharding {
    int parameters = 1;
    int gradients = 1;
    int optimizer = 1;
    int secondary = 0;  ///< hpZ's secondary shard degree of the parameters; 0: none
    ReducePlan reduce = ReducePlan::at_end;
    int sum_group = 1;        ///< ranks summed together before groups are summed; data degree for `flat`
    bool is_by_span = false;  ///< true if the deck sets shard degrees instead of a ZeRO stage
    LeaseSpan leases = LeaseSpan::pass;

    bool operator==(const Sharding&) const = default;
};

}  // namespace ziggurat::spec
