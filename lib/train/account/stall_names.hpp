/// Names of the stalls of a compute lane, in metrics, in the account and on the screen.
#pragma once

#include <string_view>

#include "schedule/step_program.hpp"

namespace ziggurat::train {

/// Cause of a stall of the compute lane: the lane of an engine, or the batch.
using Stall = schedule::Engine;
inline constexpr Stall data_stall = Stall::compute;  ///< no batch: the compute lane has no work
/// Number of stalls. Waits for the step's end and for control values count as waits for collectives.
inline constexpr int num_stalls = static_cast<int>(Stall::step_end);
static_assert(num_stalls + 1 == schedule::num_engines);

/// Names of one stall.
struct StallNames {
    std::string_view seconds_field;  ///< in metrics.jsonl
    std::string_view cause_field;    ///< in metrics.jsonl, of the longest wait
    std::string_view activity;       ///< in the account
    std::string_view column;         ///< short name, in the step line
    std::string_view meaning;        ///< in the legend, after the column's name
};

/// Returns the names of a stall; empty for Stall::step_end.
constexpr StallNames names_of(Stall stall) {
    switch (stall) {
        case data_stall:
            return {"stall_data_s", "stall_data_cause", "Wait for data", "data", "the batch"};
        case Stall::collective:
            return {"stall_collective_s", "stall_collective_cause", "Wait for collectives", "coll",
                    "other ranks (collectives)"};
        case Stall::channel:
            return {"stall_channel_s", "stall_channel_cause", "Wait for the pipeline", "chan",
                    "the pipeline's neighbours"};
        case Stall::host_to_device:
            return {"stall_host_to_device_s", "stall_host_to_device_cause", "Wait for host to device", "h2d",
                    "host to device"};
        case Stall::device_to_host:
            return {"stall_device_to_host_s", "stall_device_to_host_cause", "Wait for device to host", "d2h",
                    "device to host"};
        case Stall::nvme_read:
            return {"stall_nvme_read_s", "stall_nvme_read_cause", "Wait for NVMe reads", "read",
                    "NVMe reads"};
        case Stall::nvme_write:
            return {"stall_nvme_write_s", "stall_nvme_write_cause", "Wait for NVMe writes", "write",
                    "NVMe writes"};
        case Stall::host_optimizer:
            return {"stall_host_optimizer_s", "stall_host_optimizer_cause", "Wait for host optimizer", "opt",
                    "updates on the host"};
        case Stall::step_end:
            break;
    }
    return {};
}

/// Returns the part of its seconds field between `stall_` and `_s`.
constexpr std::string_view name_of(Stall stall) {
    return stall == data_stall ? "data" : to_string(stall);
}

}  // namespace ziggurat::train
