/// Program of one rank in one optimizer step, as data.
///
/// `train::Executor` carries a program out; `plan::Simulator` prices it. Both read the same list, so the
/// planner cannot promise a step that the trainer does not run.
///
/// The list of ops is a sequential truth: executed one after the other in list order, on any rank, the step
/// is right. Passes insert ops at the place where that holds. What may run beside what follows from it: every
/// op is put on a lane, and `derive_dependencies` finds, from the bytes that ops read and write, which ops of
/// other lanes (of this step, or of the previous one) an op has to wait for. Lanes then run ahead as far as
/// those waits allow.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "layout/role.hpp"
#include "schedule/buffer.hpp"
#include "schedule/op_kind.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

using layout::Role;

/// Part of a buffer in the role that it plays for an op.
struct Operand {
    int buffer = -1;
    Role role = Role::input;
    ByteRunList runs;

    std::int64_t bytes() const;
    bool operator==(const Operand&) const = default;
};

/// Something that works in order and beside the others.
struct Lane {
    Engine engine = Engine::compute;
    int group = -1;                         ///< of collectives and channels: index into Program::groups
    Direction direction = Direction::none;  ///< of channels: forward or backward traffic
    std::string name;
    bool serves_updates = false;  ///< see Program::update_lane
    bool serves_control = false;  ///< see Program::control_lane
};

/// Ranks that do collectives together; the order of members is the order of sums and blocks.
struct Group {
    std::string name;          ///< "data", "tensor", "gradient span" ...
    std::vector<int> members;  ///< world ranks
    int my_index = 0;

    int size() const noexcept { return static_cast<int>(members.size()); }
};

struct Op {
    OpKind kind = OpKind::compute;
    int lane = 0;
    Direction direction = Direction::none;
    Purpose purpose = Purpose::none;
    int unit = -1;
    int phase = -1;
    int microbatch = -1;
    int segment = -1;  ///< of the unit's parameters (layout::UnitTiling); -1: the unit is not cut
    std::int64_t row_begin = 0, row_end = 0;  ///< tokens of the micro-batch that the op covers, on this rank
    /// Columns of the output, which are rows of the weight, that the op covers; both 0: all.
    std::int64_t column_begin = 0, column_end = 0;
    bool accumulate = false;  ///< gradients of parameters are added to what is there
    int chunk = -1;           ///< of updates
    int group = -1;           ///< of collectives: index into Program::groups
    int peer = -1;            ///< send, receive: index into the group
    int tag = 0;              ///< send and receive match by (peers, tag)
    spec::DType payload = spec::DType::f32;
    /// reduce_scatter, all_gather, all_reduce: member m's block of the vector, runs in member order (bytes of
    /// the first operand's buffer); may be empty blocks.
    std::vector<ByteRun> blocks;
    std::vector<Operand> reads;
    std::vector<Operand> writes;
    double flops = 0;
    std::vector<int> waits_for;                ///< ops of this step, on other lanes but for overlaps_itself
    std::vector<int> waits_for_previous_step;  ///< the same of the step before
    std::string label;
};

/// Which program of a run this is.
enum class Variant { train, evaluate };

/// Indices of the buffers that are not filled and read by ops alone, all of the host but for `rotations`; -1
/// where the program has none. See control_pass for their twins on the device.
struct TrainerBuffers {
    int step_inputs = -1;     ///< of the step under way: filled before its first op
    int update_inputs = -1;   ///< the same for updates, which may still run when the next step has begun
    int exact_sums = -1;      ///< of norms that are formed on the host
    int sums_of_device = -1;  ///< of those that are formed on the device, when they have come here
    int watched_logits = -1;  ///< of one token, chosen before the run
    int rotations = -1;       ///< on the device: filled once, before the first step
    int snapshot = -1;        ///< see snapshot_pass
    int save_ring = -1;       ///< see save_ring_pass
    std::vector<std::array<int, num_batch_tensors>> batch;  ///< by micro-batch and BatchTensor

    int of(BatchTensor tensor, int microbatch) const {
        return batch.at(static_cast<std::size_t>(microbatch))[static_cast<std::size_t>(tensor)];
    }
};

struct Program {
    Variant variant = Variant::train;
    int rank = 0;
    int microbatches = 1;
    std::int64_t layers = 0;  ///< of the model: units 1 to so many are decoder layers
    std::vector<Lane> lanes;
    std::vector<Group> groups;
    std::vector<Buffer> buffers;
    std::vector<Op> ops;
    TrainerBuffers trainer_buffers;

    /// Bytes of each arena (see arena_of); set by place_buffers.
    std::int64_t arena_bytes[num_arenas] = {};
    /// Bytes of both arenas of a tier.
    std::int64_t tier_bytes(spec::Tier tier) const noexcept {
        const auto t = static_cast<std::size_t>(tier);
        return arena_bytes[t] + (tier == spec::Tier::nvme ? 0 : arena_bytes[t + 3]);
    }

    /// Index of the lane of that engine, group and direction; made when it is not there.
    int lane(Engine engine, int group = -1, Direction direction = Direction::none);
    /// That of an engine's ops which bring what updates need, or take optimizer states home. Passes wait for
    /// the other ops of that engine, which therefore go first: the first units' parameters, wanted as soon as
    /// they are published, would otherwise stand behind the states of the last units.
    int update_lane(Engine engine);
    /// That of a link's ops which move control values, a few bytes, and what updates let pass to a save: they
    /// stand behind no state that goes home or is fetched.
    int control_lane(Engine engine);
    /// Index of the group with these members; made when it is not there.
    int group(const std::string& name, const std::vector<int>& members);
    int add_buffer(Buffer buffer);
    /// \pre the program has a buffer of that index
    const Buffer& buffer(int index) const;
    const Operand* find_read(const Op& op, Role role) const;
    const Operand* find_write(const Op& op, Role role) const;
};

/// All of `buffer`.
Operand whole(const Program& program, int buffer, Role role);

}  // namespace ziggurat::schedule
