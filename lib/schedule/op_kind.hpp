/// Properties of ops as enumerations: kinds, directions, purposes and the engines that run them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "base/enumerators.hpp"

namespace ziggurat::schedule {

enum class OpKind {
    compute,  ///< a phase in some direction
    loss,     ///< cross-entropy over a block of rows
    fill,     ///< zeroes its writes
    add,      ///< writes[0] += reads[0] (fp32), or = without `accumulate`; rounded to the type of writes[0]
    update,   ///< the optimizer on one chunk's runs
    norm,     ///< adds squares of gradients to the step's exact sum
    /// Global norm, clip factor and skip flag from the exact sums. Runs on the host and contains an
    /// all_reduce of integers.
    step_end,
    all_gather,
    reduce_scatter,
    all_reduce,
    send,
    receive,
    copy,   ///< between tiers
    read,   ///< from NVMe
    write,  ///< to NVMe
};

/// Returns the name that is printed, traced and written to JSON; also for the enumerations below.
constexpr const char* to_string(OpKind kind) {
    switch (kind) {
        case OpKind::compute:
            return "compute";
        case OpKind::loss:
            return "loss";
        case OpKind::fill:
            return "fill";
        case OpKind::add:
            return "add";
        case OpKind::update:
            return "update";
        case OpKind::norm:
            return "norm";
        case OpKind::step_end:
            return "step_end";
        case OpKind::all_gather:
            return "all_gather";
        case OpKind::reduce_scatter:
            return "reduce_scatter";
        case OpKind::all_reduce:
            return "all_reduce";
        case OpKind::send:
            return "send";
        case OpKind::receive:
            return "receive";
        case OpKind::copy:
            return "copy";
        case OpKind::read:
            return "read";
        case OpKind::write:
            return "write";
    }
    throw std::invalid_argument{"no OpKind"};
}

/// True if all ranks of a group run the op together.
bool is_collective(OpKind kind);

enum class Direction { none, forward, backward, backward_input, backward_weight, recompute };

constexpr const char* to_string(Direction direction) {
    switch (direction) {
        case Direction::none:
            return "";
        case Direction::forward:
            return "forward";
        case Direction::backward:
            return "backward";
        case Direction::backward_input:
            return "backward_input";
        case Direction::backward_weight:
            return "backward_weight";
        case Direction::recompute:
            return "recompute";
    }
    throw std::invalid_argument{"no Direction"};
}

/// Reason of a transfer; names transferred volumes in the accounting report.
enum class Purpose {
    none,
    parameters,   ///< leases of sharded parameters
    secondary,    ///< leases from hpZ's second copy
    gradients,    ///< reduction
    publication,  ///< updated parameters to their other holders
    tensor,       ///< between phases, over the tensor axis
    context,
    pipeline,
    control,     ///< batches, losses, norms, counts, flags
    checkpoint,  ///< between tiers: the copy for a background save; moves no bytes while no save runs
    state,       ///< between tiers: fetches and evictions
};

constexpr const char* to_string(Purpose purpose) {
    switch (purpose) {
        case Purpose::none:
            return "none";
        case Purpose::parameters:
            return "parameters";
        case Purpose::secondary:
            return "secondary";
        case Purpose::gradients:
            return "gradients";
        case Purpose::publication:
            return "publication";
        case Purpose::tensor:
            return "tensor";
        case Purpose::context:
            return "context";
        case Purpose::pipeline:
            return "pipeline";
        case Purpose::control:
            return "control";
        case Purpose::checkpoint:
            return "checkpoint";
        case Purpose::state:
            return "state";
    }
    throw std::invalid_argument{"no Purpose"};
}

inline constexpr int num_purposes = num_enumerators<Purpose>();
/// Bytes by Purpose.
using BytesByPurpose = std::array<std::int64_t, num_purposes>;

enum class Engine {
    compute,
    collective,
    channel,
    host_to_device,
    device_to_host,
    nvme_read,
    nvme_write,
    host_optimizer,
    step_end,
};

constexpr const char* to_string(Engine engine) {
    switch (engine) {
        case Engine::compute:
            return "compute";
        case Engine::collective:
            return "collective";
        case Engine::channel:
            return "channel";
        case Engine::host_to_device:
            return "host_to_device";
        case Engine::device_to_host:
            return "device_to_host";
        case Engine::nvme_read:
            return "nvme_read";
        case Engine::nvme_write:
            return "nvme_write";
        case Engine::host_optimizer:
            return "host_optimizer";
        case Engine::step_end:
            return "step_end";
    }
    throw std::invalid_argument{"no Engine"};
}

inline constexpr int num_engines = num_enumerators<Engine>();

/// Directed links between two tiers.
enum class Link { nvme_read, nvme_write, host_to_device, device_to_host };

/// Returns the link that an engine serves; nullopt for engines that compute or communicate.
constexpr std::optional<Link> link_of(Engine engine) {
    switch (engine) {
        case Engine::nvme_read:
            return Link::nvme_read;
        case Engine::nvme_write:
            return Link::nvme_write;
        case Engine::host_to_device:
            return Link::host_to_device;
        case Engine::device_to_host:
            return Link::device_to_host;
        case Engine::compute:
        case Engine::collective:
        case Engine::channel:
        case Engine::host_optimizer:
        case Engine::step_end:
            return std::nullopt;
    }
    throw std::invalid_argument{"no Engine"};
}

constexpr Engine engine_of(Link link) {
    for (int e = 0; e < num_engines; ++e) {
        if (link_of(static_cast<Engine>(e)) == link) {
            return static_cast<Engine>(e);
        }
    }
    throw std::invalid_argument{"no Link"};
}

/// Returns the name of the lane, for example `nvme_read`.
constexpr const char* to_string(Link link) {
    return to_string(engine_of(link));
}
inline constexpr int num_links = num_enumerators<Link>();

/// True if an op of a lane may begin before the ops before it in the lane have ended or begun.
///
/// This keeps a disk busy. Such an op lists everything that it must wait for in its waits, including ops of
/// its own lane. An op begins when these ops are done: the op `max_in_flight` positions before it, all ops
/// before that one, and the op itself in the previous step.
constexpr bool overlaps_itself(Engine engine) {
    return engine == Engine::nvme_read || engine == Engine::nvme_write;
}
inline constexpr int max_in_flight = 8;

}  // namespace ziggurat::schedule
