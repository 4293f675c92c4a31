/// Engine, which runs the ops of a lane, and Link, a direction between two tiers that an engine serves.
#pragma once

#include <optional>
#include <stdexcept>

#include "base/enum_array.hpp"
#include "base/enumerators.hpp"

namespace ziggurat::schedule {

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
