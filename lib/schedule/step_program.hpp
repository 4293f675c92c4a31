/// What one rank does in one optimizer step, as data.
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

#include "layout/family.hpp"
#include "layout/flat_layout.hpp"
#include "layout/state_kinds.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

enum class OpKind {
    compute,   ///< a phase in some direction
    loss,      ///< cross-entropy over a block of rows
    fill,      ///< zeroes its writes
    add,       ///< writes[0] += reads[0] (fp32), or = without `accumulate`; rounded to the type of writes[0]
    update,    ///< the optimizer on one chunk's runs
    norm,      ///< adds squares of gradients to the step's exact sum
    step_end,  ///< global norm, clip factor and skip flag from the exact sums (all_reduce of integers inside)
    all_gather,
    reduce_scatter,
    all_reduce,
    all_to_all,
    broadcast,
    send,
    receive,
    encode,
    decode,
    decode_reduce,
    copy,   ///< between tiers
    read,   ///< from NVMe
    write,  ///< to NVMe
};

enum class Direction { none, forward, backward, backward_input, backward_weight, recompute };

/// Why bytes travel; names volumes in the account.
enum class Purpose {
    none,
    parameters,   ///< leases of sharded parameters
    secondary,    ///< leases from hpZ's second copy
    gradients,    ///< reduction
    publication,  ///< updated parameters to their other holders
    tensor,       ///< between phases, over the tensor axis
    context,
    pipeline,
    control,  ///< norms, counts, flags
    state,    ///< tiers: fetches and evictions
};
inline constexpr int num_purposes = 10;
/// Bytes by Purpose.
using BytesByPurpose = std::array<std::int64_t, num_purposes>;

struct Run {
    std::int64_t offset = 0;  ///< bytes from the start of the buffer
    std::int64_t bytes = 0;

    bool operator==(const Run&) const = default;
};

/// Part of a buffer in the part that it plays for an op: "input", "weight", "d_output", "workspace" ...
struct Operand {
    int buffer = -1;
    std::string role;
    std::vector<Run> runs;

    std::int64_t bytes() const;
    bool operator==(const Operand&) const = default;
};

enum class Lifetime {
    persistent,  ///< holds state from step to step
    transient,   ///< from the first op that names it to the last; its place in the arena is used again
    inputs,      ///< filled by the trainer before the step: the batch of a micro-batch, StepInputs
};

using layout::is_optimizer_state;
using layout::StateKind;

/// Lines of the memory table.
namespace consumer {
inline constexpr const char* parameters = "parameters";
inline constexpr const char* gradients = "gradients";
inline constexpr const char* optimizer = "optimizer";
inline constexpr const char* activations = "activations";          ///< kept from forward to backward
inline constexpr const char* working_buffers = "working buffers";  ///< values and gradients in between
inline constexpr const char* logits = "logits";
inline constexpr const char* workspaces = "workspaces";
inline constexpr const char* batch = "batch";
inline constexpr const char* snapshot = "snapshot";  ///< of state on its way to a checkpoint
}  // namespace consumer

struct Buffer {
    std::string name;
    spec::Tier tier = spec::Tier::device;
    std::int64_t bytes = 0;
    Lifetime lifetime = Lifetime::transient;
    StateKind state = StateKind::none;
    std::string consumer;  ///< the line of the memory table that it counts to
    int unit = -1;
    int microbatch = -1;
    std::int64_t first_element = 0;  ///< persistent shards: where in the unit's flat range byte 0 lies
    spec::DType type = spec::DType::f32;
    bool is_shared = false;    ///< in an arena that ranks of the node read; set by place_buffers
    std::int64_t offset = -1;  ///< in its arena; set by place_buffers
};

/// The arenas of a rank: one of each tier, indexed by spec::Tier, that it alone maps, then those of device
/// and host memory that the other ranks of its node map as well, for what collectives touch.
inline constexpr std::size_t num_arenas = 5;

/// Index of the arena that `buffer` lies in.
constexpr std::size_t arena_of(const Buffer& buffer) {
    return static_cast<std::size_t>(buffer.tier) + (buffer.is_shared ? 3 : 0);
}

constexpr spec::Tier tier_of_arena(std::size_t arena) {
    return static_cast<spec::Tier>(arena % 3);
}

enum class Engine {
    compute,
    collective,
    channel,
    host_to_device,
    device_to_host,
    nvme_read,
    nvme_write,
    host_optimizer
};

/// Whether ops of a lane begin before those in front of them have ended, or even begun, so that a disk is
/// never idle for want of being asked. All that they must wait for is in their waits, for ops of their own
/// lane too. An op begins when the one `most_under_way` places in front of it, all in front of that, and
/// itself in the step before, are done.
constexpr bool overlaps_itself(Engine engine) {
    return engine == Engine::nvme_read || engine == Engine::nvme_write;
}
inline constexpr int most_under_way = 8;

/// Something that works in order and beside the others.
struct Lane {
    Engine engine = Engine::compute;
    int group = -1;                         ///< of collectives and channels: index into Program::groups
    Direction direction = Direction::none;  ///< of channels: forward or backward traffic
    std::string name;
    bool serves_updates = false;  ///< see Program::update_lane
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
    int peer = -1;            ///< send, receive, broadcast: index into the group
    int tag = 0;              ///< send and receive match by (peers, tag)
    spec::DType payload = spec::DType::f32;
    /// reduce_scatter, all_gather, all_reduce: member m's block of the vector, runs in member order (bytes of
    /// the first operand's buffer); may be empty blocks.
    std::vector<Run> blocks;
    std::vector<Operand> reads;
    std::vector<Operand> writes;
    double flops = 0;
    std::vector<int> waits_for;                ///< ops of this step, on other lanes but for overlaps_itself
    std::vector<int> waits_for_previous_step;  ///< the same of the step before
    std::string label;
};

/// Which program of a run this is.
enum class Variant { train, evaluate };

struct Program {
    Variant variant = Variant::train;
    int rank = 0;
    int microbatches = 1;
    std::vector<Lane> lanes;
    std::vector<Group> groups;
    std::vector<Buffer> buffers;
    std::vector<Op> ops;

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
    /// Index of the group with these members; made when it is not there.
    int group(const std::string& name, const std::vector<int>& members);
    int add_buffer(Buffer buffer);
    const Operand* find_read(const Op& op, const std::string& role) const;
    const Operand* find_write(const Op& op, const std::string& role) const;
};

int element_bytes(const Buffer& buffer);
/// The elements of the unit's flat range that a buffer of state holds.
layout::ElementRange elements_of(const Buffer& buffer);

/// All of `buffer`.
Operand whole(const Program& program, int buffer, std::string role);

/// Names as printed and traced.
const char* to_string(OpKind kind);
const char* to_string(Direction direction);
const char* to_string(Purpose purpose);
const char* to_string(Engine engine);

}  // namespace ziggurat::schedule
