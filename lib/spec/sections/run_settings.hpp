/// Settings of a run: its folder, checkpoints, logs and limits for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ziggurat::spec {

enum class Resume { automatic, never, must, path };

struct Run {
    std::string name = "run";
    std::string dir = "runs/run";
    std::uint64_t seed = 1234;
    Resume resume = Resume::automatic;
    std::string resume_path;                   ///< set if resume is `path`
    std::optional<double> time_limit_seconds;  ///< from the start of the process
    bool trace = false;
    double hang_timeout_seconds = 600;
    /// Resumes although the training files differ from those of the checkpoint.
    bool accept_data_change = false;
    std::string on_event;  ///< command that gets each event; empty: none

    bool operator==(const Run&) const = default;
};

struct Interval {
    std::int64_t steps = 0;  ///< 0: not by steps
    std::int64_t tokens = 0;
    double seconds = 0;

    bool operator==(const Interval&) const = default;
};

/// Settings of checkpoints.
struct Checkpoint {
    /// Interval of periodic saves. Any interval also enables the save at the end and on a stop request.
    /// Without a value (`checkpoint.every: none`) the run never saves, not even at the end, and cannot be
    /// resumed.
    std::optional<Interval> every;
    std::int64_t keep_last = 2;         ///< number of newest complete checkpoints to keep
    std::int64_t keep_every_steps = 0;  ///< checkpoints at multiples of this are always kept; 0: none
    std::int64_t keep_best = 0;         ///< number of checkpoints to keep for lowest validation losses
    bool is_async = true;  ///< training continues while files are written from a copy of the state

    bool operator==(const Checkpoint&) const = default;
};

struct Logging {
    Interval every{.steps = 10};
    bool tensorboard = false;
    std::int64_t norms = 0;  ///< steps between reports of norms by unit; 0: never

    bool operator==(const Logging&) const = default;
};

/// Artificial limits that slow a rank down; 0: no limit.
struct Throttle {
    // Maximum rates between tiers, in bytes per second.
    double nvme_read = 0;
    double nvme_write = 0;
    double host_to_device = 0;
    double device_to_host = 0;
    double compute = 0;  ///< minimum seconds of a decoder layer's forward; of its backward: twice as long
    double tensor = 0;   ///< maximum rate of collectives on the tensor axis, in bytes per second of a rank

    bool operator==(const Throttle&) const = default;
};

struct Debug {
    int nodes = 0;  ///< emulated nodes on one machine; 0: real nodes
    Throttle throttle;

    bool operator==(const Debug&) const = default;
};

}  // namespace ziggurat::spec
