/// Writer of the ops of phases; only expand*.cpp includes this file.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "layout/workspaces.hpp"
#include "schedule/expand/expand.hpp"

namespace ziggurat::schedule {

/// Buffer and placement of a value or of its gradient.
struct PlacedValue {
    BufferId buffer = -1;
    layout::Placement placement = layout::Placement::replicated;
    bool is_stream = false;  ///< gradient of the residual stream, to which later ops add
};

/// Block of a product or lookup of a grid of tensor ranks.
struct GridBlock {
    UnitId unit = -1;
    int phase = -1;
    int microbatch = -1;
    Direction direction = Direction::none;
    int number = 0;  ///< from 0: of the rows of the weight
    int tile = 0;    ///< of the block, if the phase is tiled
};

/// Appends the ops of single phases and micro-batches to a draft.
class PhaseWriter {
  public:
    PhaseWriter(const spec::RunSpec& spec,
                const ModelLayout& model,
                Variant variant,
                const CachedPass& cached = {});

    const ModelLayout& model() const noexcept { return model_; }
    Program& program() noexcept { return draft_.program; }
    ProgramBuilder take() { return std::move(draft_); }

    /// Returns the placement of values between units.
    layout::Placement outside() const noexcept { return outside_; }
    /// Adds a buffer for an activation between units.
    BufferId boundary_buffer(const std::string& name, int microbatch);
    /// Sets the fate of a buffer with the output of `unit`, which another stage has computed.
    void set_fate_of_output(BufferId buffer, UnitId unit);

    /// Writes forward of one unit; `input` is the output of the unit before it.
    ///
    /// Returns the unit's output, in the placement outside().
    BufferId forward(UnitId unit, int microbatch, BufferId input);
    /// Writes backward of one unit; `d_output` is the gradient of its output.
    ///
    /// Returns the gradient of its input, or -1 if no unit before it is trained. Omits ops that only form
    /// gradients of frozen tensors.
    BufferId backward(UnitId unit, int microbatch, BufferId d_output);
    /// Writes the head: forward, loss and, in training, backward. Returns the gradient of its input, or -1.
    BufferId head(UnitId unit, int microbatch, BufferId input);

    /// Sets whether weight products of layers are deferred.
    void defer_weight_products(bool defer) { is_deferring_ = defer; }
    /// Appends the weight products that were deferred.
    void deferred_weight_products(int microbatch, int chunk);
    void set_chunk(int chunk) { chunk_ = chunk; }

  private:
    using ValueKey = std::tuple<int, int, int>;  // micro-batch, unit, value

    // expand_phases.cpp: functions for all kinds of ops
    std::string label_of(UnitId unit, int phase, Direction direction, int microbatch) const;
    /// \param part  segment of a tiled phase
    Op compute_op(UnitId unit, int phase, int microbatch, Direction direction, std::size_t part = 0) const;
    /// Returns an op of a phase's adapters alone.
    Op adapter_op(UnitId unit, int phase, int microbatch, Direction direction) const;
    /// Returns the number of tiles of the phase; 1 if it is not tiled.
    std::size_t num_tiles(UnitId unit, int phase) const;
    std::int64_t rows(layout::Placement placement) const;
    void add_parameters(Op& op, const layout::Phase& phase, const std::vector<Role>& roles = {});
    /// Adds the gradients of trained tensors; returns false if the phase has no trained tensor.
    bool add_gradients(Op& op, const layout::Phase& phase, const std::vector<Role>& roles = {});
    void add_dropout_reads(Op& op);
    void add_step_inputs(Op& op);
    /// Adds the first key of each query: of its document, or of the phase's window.
    void add_starts(Op& op, const layout::Phase& phase);
    /// Adds the KV cache of the phase, its page table, and the tokens' places in it.
    void add_cache(Op& op, const layout::Phase& phase);
    /// Adds the rotations and the positions that select them.
    void add_rotations(Op& op, const layout::Phase& phase);
    /// Returns an operand for a tensor of the micro-batch, or for rows [begin, end) of it.
    Operand batch(BatchTensor tensor, int microbatch) const;
    Operand batch_rows(BatchTensor tensor, int microbatch, std::int64_t begin, std::int64_t end) const;
    void add(Op op) { draft_.program.ops.push_back(std::move(op)); }

    // expand_buffers.cpp
    BufferId value_buffer(UnitId unit, int value, layout::Placement placement, int microbatch, bool is_kept);
    BufferId gradient_buffer(UnitId unit, int value, layout::Placement placement, int microbatch);
    void add_workspace(Op& op, std::int64_t bytes);
    std::int64_t workspace_bytes(const layout::Phase& phase, Direction direction) const;
    /// Returns the workspace of one tile's product and of a copy of the tile's columns of the output.
    std::int64_t tile_workspace_bytes(const Op& op, std::int64_t rows, std::int64_t in) const;
    std::int64_t adapter_workspace_bytes(const layout::Phase& phase) const;
    BufferId scratch_buffer(
        std::string name, std::int64_t bytes, MemoryCategory line, UnitId unit, int microbatch);
    bool is_kept(UnitId unit, int value) const;
    /// Saves a buffer for backward, with the fate of the value.
    void keep(Buffer& buffer, UnitId unit, int value) const;
    void set_fate(Buffer& buffer, UnitId unit, int value) const;
    /// Adds the host buffers of a micro-batch that the trainer fills or reads.
    void add_batch(int microbatch);
    /// Adds a persistent buffer for the keys and values of each attention phase of this rank.
    void add_caches();

    // expand_forward.cpp
    void forward_phase(UnitId unit, int phase, int microbatch);
    BufferId use_value(UnitId unit, const layout::ValueUse& use, int microbatch, Direction direction);
    void add_summand_parameters(Op& op, const layout::Phase& phase);

    // expand_backward.cpp
    void backward_from(UnitId unit, int end, int microbatch);
    BufferId d_input(UnitId unit, int microbatch) const;
    void backward_phase(UnitId unit, int phase, int microbatch);
    void backward_linear(UnitId unit, int phase, int microbatch);
    bool trains_weight(UnitId unit, int phase) const;
    /// Adds an op that already has its gradients; defers it if defer_weight_products() asks for that.
    void add_weight_product(Op op, BufferId x, const PlacedValue& d_y, std::int64_t workspace_bytes);
    /// Moves the ops from number `first` on to the slot of deferred weight products; they read `d_y`.
    void defer_ops(std::ptrdiff_t first, BufferId d_y);
    PlacedValue d_output(UnitId unit, int phase, int microbatch);
    BufferId d_stream(Op& op, const layout::Phase& phase);
    /// Returns the buffer for a sum of the gradient in `total` and another one.
    ///
    /// It is `total`, or a new buffer if a deferred weight product reads `total`.
    BufferId sum_buffer(BufferId total, UnitId unit, int value, layout::Placement placement, int microbatch);
    PlacedValue whole_gradient(UnitId unit, int phase, int microbatch, BufferId buffer);
    void leave_gradient(UnitId unit, int phase, int microbatch, const PlacedValue& left);
    void add_to_gradient(UnitId unit, int phase, int microbatch, BufferId addend, PlacedValue& total);

    // expand_tiles.cpp: tiled phases
    void forward_tiles(UnitId unit, int phase, int microbatch);
    void forward_lookup_tiles(UnitId unit, int phase, int microbatch);
    void backward_tiles(UnitId unit, int phase, int microbatch);
    void forward_adapters(UnitId unit, int phase, int microbatch, BufferId x, BufferId y);
    void adapters_d_input(UnitId unit, int phase, int microbatch, BufferId d_y, BufferId d_x);
    void adapter_gradients(UnitId unit, int phase, int microbatch, BufferId x, const PlacedValue& d_y);
    void backward_lookup_tiles(UnitId unit, int phase, int microbatch);

    // expand_grid.cpp: phases of a grid of tensor ranks
    void forward_grid(UnitId unit, int phase, int microbatch);
    void backward_grid(UnitId unit, int phase, int microbatch);
    BufferId grid_head(UnitId unit, int phase, int microbatch, bool passes_on);
    BufferId cube_head(UnitId unit, int phase, int microbatch);
    void grid_product(UnitId unit, int phase, int microbatch, BufferId x, BufferId y);
    void grid_gradients(UnitId unit, int phase, int microbatch, BufferId d_y, BufferId x, BufferId d_x);
    void grid_bias_gradient(UnitId unit, int phase, int microbatch, BufferId d_y);
    bool is_weight_trained(UnitId unit, const layout::Phase& phase) const;
    void grid_lookup(UnitId unit, int phase, int microbatch, BufferId x);
    void grid_lookup_gradients(UnitId unit, int phase, int microbatch, BufferId d_x);
    Op block_op(const GridBlock& block) const;
    void set_table_rows(Op& op, int block) const;
    Op grid_op(
        OpKind kind, const GridBlock& block, spec::Axis axis, int root, std::int64_t bytes, spec::DType type);
    BufferId broadcast(const GridBlock& block, spec::Axis axis, int root, Operand source, std::int64_t bytes);
    std::string name_of(const GridBlock& block, const char* what) const;
    void put_with_table(Buffer& buffer, UnitId unit) const;
    BufferId broadcast_weight(const GridBlock& block, Role role);
    void reduce_in_place(const GridBlock& block, spec::Axis axis, int root, BufferId summand, BufferId named);
    void add_block(const GridBlock& block, Role role, BufferId summand);
    BufferId gradient_block(Op& op, const GridBlock& block, Role role);

    // expand_grid_adapters.cpp
    void grid_adapter_product(UnitId unit,
                              int phase,
                              int microbatch,
                              Direction direction,
                              Role matrix,
                              Operand from,
                              const Operand& to,
                              bool adds);
    BufferId grid_adapter_input(UnitId unit, int phase, int microbatch, BufferId x, Direction direction);
    void grid_adapter_output(UnitId unit, int phase, int microbatch, BufferId inner, BufferId y);
    BufferId grid_adapter_gradient(UnitId unit, int phase, int microbatch, BufferId d_y);
    void grid_adapter_d_input(UnitId unit, int phase, int microbatch, BufferId d_inner, BufferId d_x);
    void grid_adapter_weights(
        UnitId unit, int phase, int microbatch, BufferId x, BufferId d_y, BufferId d_inner);
    BufferId inner_buffer(UnitId unit, int phase, int microbatch, const std::string& name);

    // expand_tensor.cpp
    int convert(BufferId buffer,
                layout::Placement from,
                layout::Placement to,
                const layout::Value& value,
                UnitId unit,
                int microbatch,
                Direction direction);
    void sum_over_tensor(BufferId buffer, UnitId unit, int microbatch, Direction direction, spec::Axis axis);
    Op tensor_op(
        OpKind kind, UnitId unit, int microbatch, Direction direction, spec::Axis axis = spec::Axis::tensor);

    // expand_head.cpp
    /// Buffers of the packed weight; -1 if products read the unpacked weight.
    struct PackedHead {
        int forward = -1;
        int backward = -1;
    };
    PackedHead pack_head(UnitId unit, int microbatch, bool passes_on);
    Op logits_op(UnitId unit, int microbatch, std::int64_t begin, std::int64_t end, Direction direction);
    void add_head_weight(Op& op, BufferId packed, Role role);
    BufferId logits_of_rows(UnitId unit,
                            int microbatch,
                            std::int64_t begin,
                            std::int64_t end,
                            const PackedHead& packed,
                            Direction direction);
    void backward_of_logits(UnitId unit,
                            int microbatch,
                            std::int64_t begin,
                            std::int64_t end,
                            BufferId d_logits,
                            const PackedHead& packed,
                            BufferId d_h);
    /// Adds the ops of the losses of rows [begin, end) and, in training, of their gradient.
    ///
    /// \pre with a preference objective in training, these are all rows
    void losses_of_logits(UnitId unit, int microbatch, std::int64_t begin, std::int64_t end, BufferId logits);
    void logits_block(UnitId unit,
                      int microbatch,
                      std::int64_t begin,
                      std::int64_t end,
                      const PackedHead& packed,
                      BufferId d_h);
    Op loss_op(UnitId unit, int microbatch, std::int64_t begin, std::int64_t end, int logits);
    int statistics_of(UnitId unit, int microbatch, std::int64_t begin, std::int64_t end, int logits);

    void merge_statistics(UnitId unit, int microbatch, int own);
    void losses_of_statistics(
        UnitId unit, int microbatch, std::int64_t begin, std::int64_t end, int statistics);
    BufferId input_gradient_of_head(UnitId unit, int microbatch, BufferId d_h);

    // expand_head_pairs.cpp
    void head_of_pairs(UnitId unit, int microbatch, const PackedHead& packed, BufferId d_h);
    Operand losses_of_all_positions(UnitId unit, int microbatch);
    BufferId weights_of_pairs(UnitId unit, int microbatch);
    void add_token_weights(Op& loss, BufferId weights) const;

    // expand_head_tiles.cpp
    void head_tiles(UnitId unit, int microbatch, BufferId h, BufferId d_h);
    int logits_of_tile(UnitId unit,
                       int microbatch,
                       std::size_t tile,
                       std::int64_t begin,
                       std::int64_t end,
                       Direction direction);

    const layout::Unit& unit_of(UnitId unit) const { return model_.table.units[unit]; }

    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    std::unique_ptr<layout::Workspaces> workspaces_;
    std::unique_ptr<layout::Workspaces> windowed_workspaces_;  ///< of attention within a window
    ProgramBuilder draft_;
    layout::Placement outside_;
    std::map<ValueKey, PlacedValue> values_;
    /// Tokens gathered from other ranks. Forward and backward gather separately, so a rank keeps only its
    /// own.
    std::map<std::tuple<ValueKey, layout::Placement, Direction>, int> converted_;
    std::map<ValueKey, PlacedValue> gradients_;
    std::map<UnitId, BufferId> caches_;  ///< KV cache of each layer
    LaneId host_lane_ = -1;              ///< of the embedding, if its operators run on the host
    bool is_deferring_ = false;
    int chunk_ = 0;
    std::map<std::pair<int, int>, std::vector<Op>> deferred_;  // (micro-batch, chunk) -> ops
    std::set<BufferId> read_by_deferred_;  ///< gradients that must not change before their slot
};

}  // namespace ziggurat::schedule
