/// Program of one rank in one optimizer step, as data.
///
/// `train::Executor` runs a program, and the library `plan` computes its memory and time. Both use the same
/// list, so the planner predicts exactly the step that the trainer runs.
///
/// The list of ops is a valid sequential order: executed one after another, on any rank, the ops give the
/// correct step. Passes insert ops only at positions where this stays true. Concurrency is derived: every op
/// is on a lane, and `derive_dependencies` finds, from the bytes that ops read and write, the ops of other
/// lanes (of this step or the previous one) that an op must wait for. Lanes then run ahead as far as
/// those waits allow.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/enum_array.hpp"
#include "layout/cache/kv_cache.hpp"
#include "layout/families/role.hpp"
#include "schedule/buffer.hpp"
#include "schedule/engine.hpp"
#include "schedule/op_kind.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

using layout::Role;

/// Part of a buffer, with its role in an op.
struct Operand {
    BufferId buffer = -1;
    Role role = Role::input;
    ByteRangeList runs;

    std::int64_t bytes() const;
    bool operator==(const Operand&) const = default;
};

/// Queue of ops that runs its ops in order, concurrently with other lanes.
struct Lane {
    Engine engine = Engine::compute;
    int group = -1;                         ///< collectives and channels: index into Program::groups
    Direction direction = Direction::none;  ///< channels: forward or backward traffic
    std::string name;
    bool serves_updates = false;  ///< see Program::update_lane
    bool serves_control = false;  ///< see Program::control_lane
};

/// Ranks of a collective. Sums and blocks follow the order of members.
struct Group {
    std::string name;          ///< "data", "tensor", "gradient span" ...
    std::vector<int> members;  ///< world ranks
    int my_index = 0;

    int size() const noexcept { return static_cast<int>(members.size()); }
};

struct Op {
    OpKind kind = OpKind::compute;
    LaneId lane = 0;
    Direction direction = Direction::none;
    Purpose purpose = Purpose::none;
    UnitId unit = -1;
    int phase = -1;
    int microbatch = -1;
    int segment = -1;  ///< of the unit's parameters (layout::UnitTiling); -1: the unit is not tiled
    std::int64_t row_begin = 0, row_end = 0;  ///< tokens of the micro-batch that the op covers, on this rank
    /// Columns of the output, which are rows of the weight, that the op covers; both 0: all.
    std::int64_t column_begin = 0, column_end = 0;
    bool accumulate = false;   ///< gradients of parameters are added to the existing values
    bool is_deferred = false;  ///< a weight product in a slot Pass::backward_weight
    int chunk = -1;            ///< chunk of an update
    int group = -1;            ///< collectives: index into Program::groups
    int peer = -1;  ///< send, receive: index into the group; rounds of a ring: context rank of the keys
    int tag = 0;    ///< send and receive match by (peers, tag)
    spec::DType payload = spec::DType::f32;
    /// reduce_scatter, all_gather, all_reduce: each member's block of the vector, in member order, in bytes
    /// of the first operand's buffer. Blocks may be empty. all_to_all: of both buffers.
    std::vector<ByteRange> blocks;
    std::vector<Operand> reads;
    std::vector<Operand> writes;
    double flops = 0;
    /// Flag of kernels::StepInputs::redoes_updates that step_end or the trainer writes; without it, the op
    /// runs in each step.
    ///
    /// The op waits for the writer of the flag. Ops that wait for this op wait also if it does not run.
    std::optional<Operand> predicate = std::nullopt;
    std::vector<OpId> waits_for;                ///< ops of this step; of its own lane only if overlaps_itself
    std::vector<OpId> waits_for_previous_step;  ///< the same for the previous step
    std::string label;
};

/// Kind of program: a training step, an evaluation of whole sequences, a pass with a KV cache, or the
/// publication of master weights (publication_pass).
enum class Variant { train, evaluate, cached, publish };

/// Returns the name that is printed and written to JSON.
constexpr const char* to_string(Variant variant) {
    switch (variant) {
        case Variant::train:
            return "train";
        case Variant::evaluate:
            return "evaluate";
        case Variant::cached:
            return "cached";
        case Variant::publish:
            return "publish";
    }
    throw std::invalid_argument{"no Variant"};
}

/// Forward pass of some tokens, of any sequences, which reads and extends a KV cache.
struct CachedPass {
    layout::CacheSizes cache;
    std::int64_t rows = 0;  ///< tokens of a pass
    bool has_head = true;   ///< false: the pass only extends the cache, without logits and losses
};

/// Buffers of a unit that is clipped by its own norm (spec::ClipPolicy::per_unit).
struct UnitClipBuffers {
    BufferId exact_sums = -1;      ///< see TrainerBuffers::exact_sums
    BufferId sums_of_device = -1;  ///< see TrainerBuffers::sums_of_device
    BufferId update_inputs = -1;   ///< of the unit's updates
};

/// Indices of the buffers that the trainer fills or reads; -1 if the program does not have the buffer.
///
/// All except `rotations` and `window_rotations` are on the host. control_pass adds their device copies.
struct TrainerBuffers {
    BufferId step_inputs = -1;     ///< of the current step: filled before its first op
    BufferId update_inputs = -1;   ///< the same for updates, which may still run when the next step has begun
    BufferId exact_sums = -1;      ///< sums of the norms that are computed on the host
    BufferId sums_of_device = -1;  ///< host copy of the sums of the norms that are computed on the device
    /// By unit: sums of the squares of weights and of their changes, of updates on the host.
    ///
    /// -1 unless the run reports norms by unit (spec::Logging::norms).
    BufferId update_sums = -1;
    BufferId update_sums_of_device = -1;  ///< host copy of the same sums of updates on the device
    BufferId watched_logits = -1;         ///< logits of one token, selected before the run
    BufferId rotations = -1;              ///< on the device: filled one time, before the first step
    /// The same for layers whose window has a theta of its own.
    BufferId window_rotations = -1;
    BufferId snapshot = -1;                               ///< see snapshot_pass
    BufferId save_ring = -1;                              ///< see save_ring_pass
    std::vector<EnumArray<BatchTensor, BufferId>> batch;  ///< by micro-batch

    /// By unit of the table; empty unless units are clipped by their own norms.
    IndexedVector<UnitId, UnitClipBuffers> unit_clips;

    BufferId of(BatchTensor tensor, int microbatch) const { return batch.at(microbatch)[tensor]; }
    /// Returns the buffer for sums of norms of a unit that are computed on the host.
    BufferId exact_sums_of(UnitId unit) const {
        return unit_clips.empty() ? exact_sums : unit_clips.at(unit).exact_sums;
    }
    /// True if exact_sums has a slot for each unit of the table.
    bool has_sums_by_unit() const { return update_sums >= 0 && unit_clips.empty(); }
    /// Returns the range of exact_sums_of(unit) that has the sum of the unit.
    ByteRange range_of_sum(UnitId unit) const {
        return has_sums_by_unit() ? ByteRange{unit * exact_sum_slot_bytes, exact_sum_slot_bytes}
                                  : ByteRange{0, exact_sums_bytes};
    }
    /// Returns the range of update_sums that has the two sums of the unit.
    ///
    /// \param repeated  the sums of repeated updates, which replace those of speculative updates
    static ByteRange range_of_update_sums(UnitId unit, bool repeated) {
        return {(4 * unit + (repeated ? 2 : 0)) * exact_sum_slot_bytes, 2 * exact_sum_slot_bytes};
    }
};

/// Buffers that name the same memory in turn.
///
/// In the next step, the memory of slots[i + shift] is slots[i].
///
/// All slots have the same size. In step s, counted from 0, ops that name slots[i] use the memory of
/// slots[(i + s * shift) % n].
struct Rotation {
    std::vector<BufferId> slots;
    int shift = 0;  ///< from 0 to the number of slots
};

struct Program {
    Variant variant = Variant::train;
    CachedPass cached;  ///< Variant::cached only
    int rank = 0;
    int microbatches = 1;  ///< all that ops name, with those that are ahead
    /// Without a flush: micro-batches of later steps whose forward is part of this step
    /// (spec::WeightVersions::ahead). -1: the pipeline is flushed between steps.
    ///
    /// The step then has backward of the first `microbatches - ahead`, and forward of the last ones.
    int ahead = -1;
    bool is_by_layer = false;  ///< all micro-batches of a unit run before the next unit
    std::int64_t layers = 0;   ///< of the model: units 1 to `layers` are decoder layers
    IndexedVector<LaneId, Lane> lanes;
    std::vector<Group> groups;
    IndexedVector<BufferId, Buffer> buffers;
    IndexedVector<OpId, Op> ops;
    TrainerBuffers trainer_buffers;
    std::vector<Rotation> rotations;  ///< of buffers with Lifetime::in_flight

    /// True if steps follow each other without a flush of the pipeline.
    bool has_no_flush() const noexcept { return ahead >= 0; }
    /// Returns the micro-batches of a step.
    int microbatches_of_step() const noexcept { return has_no_flush() ? microbatches - ahead : microbatches; }
    /// Sizes of the arenas in bytes (see arena_of); set by place_buffers.
    std::int64_t arena_bytes[num_arenas] = {};
    /// Returns the bytes of both arenas of a tier.
    std::int64_t tier_bytes(spec::Tier tier) const noexcept {
        const auto t = static_cast<std::size_t>(tier);
        return arena_bytes[t] + (tier == spec::Tier::nvme ? 0 : arena_bytes[t + 3]);
    }

    /// Returns the index of the lane with that engine, group and direction; adds it if it is missing.
    LaneId lane(Engine engine, int group = -1, Direction direction = Direction::none);
    /// Returns the index of an engine's lane for ops that fetch data for updates or evict optimizer state.
    ///
    /// Passes wait for the other ops of that engine, so those must not queue after update traffic. Otherwise
    /// the first units' parameters, needed directly after publication, would wait for the states of the last
    /// units.
    LaneId update_lane(Engine engine);
    /// Returns the index of the lane for operators that run on the host (tiers.operators).
    ///
    /// They do not queue after updates on the host, so a step begins while the last chunks are updated.
    LaneId operator_lane();
    /// Returns the index of a link's lane for control values and for copies of state for a save.
    ///
    /// These transfers do not queue after state that is fetched or evicted.
    LaneId control_lane(Engine engine);
    /// Returns the index of the group with these members; adds it if it is missing.
    int group(const std::string& name, const std::vector<int>& members);
    BufferId add_buffer(Buffer buffer);
    /// \pre the program has a buffer of that index
    const Buffer& buffer(BufferId buffer) const;
    const Operand* find_read(const Op& op, Role role) const;
    const Operand* find_write(const Op& op, Role role) const;
};

/// Returns an operand that covers the whole `buffer`.
Operand whole(const Program& program, BufferId buffer, Role role);

}  // namespace ziggurat::schedule
