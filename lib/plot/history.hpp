/// History of a run: the numbers of its metrics.jsonl.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::plot {

/// The lanes of the fields `stall_<lane>_s`.
inline constexpr std::array<std::string_view, 8> lanes{"data",           "collective",     "channel",
                                                       "host_to_device", "device_to_host", "nvme_read",
                                                       "nvme_write",     "host_optimizer"};

/// Tiers of memory, as fields of a step and of the start call them.
enum class MemoryTier { device, host, nvme };
inline constexpr std::array<std::string_view, 3> tiers{"device", "host", "nvme"};

struct Step {
    std::int64_t step = 0;
    double time = 0;             ///< of its end, in seconds since 1970, UTC; 0: not told
    std::optional<double> loss;  ///< nothing: there was none, or it was not finite
    bool is_loss_finite = true;
    double tok_s = 0;
    double step_s = 0;
    std::array<float, lanes.size()> stall_s{};
    std::int64_t tokens = 0;  ///< since the training began
    std::array<double, tiers.size()>
        tier_bytes{};  ///< by MemoryTier; of the fullest rank, where a rank has its own
    double mfu = 0;    ///< 0: the peak is unknown
    double lr = 0;
    double grad_norm = 0;
    std::vector<double> loss_by_source = {};  ///< by History::train_sources; not a number: none in this step
    double elapsed_s = 0;  ///< from the start of the run's first job, without the time between jobs
};

struct Validation {
    std::int64_t step = 0;
    double loss = 0;
    std::vector<double> loss_by_source = {};  ///< by History::validation_sources; not a number: none
};

/// A save that is over.
struct Save {
    std::int64_t step = 0;
    bool is_ok = false;
    double bytes = 0;
    double seconds = 0;
    double stood_still_s = 0;  ///< training, for it
    std::string reason = {};   ///< why it was given up
    bool is_removed = false;   ///< it was complete, and is not on the disk any more
};

/// Something else that a run tells of.
struct RunEvent {
    double time = 0;  ///< seconds since 1970, UTC; 0: not told
    std::optional<std::int64_t> step = {};
    std::string text = {};  ///< printable
};

/// Kinds of events that a picture marks.
enum class MarkKind {
    resume,     ///< a job went on after a checkpoint
    roll_back,  ///< the run went back to a checkpoint because of a spike
    spike,
    crash  ///< a job failed, or the next job or another rank wrote that it had ended without a last line
};
inline constexpr std::array<std::string_view, 4> mark_names{"resume", "roll-back", "spike", "crash"};

/// Event of a run that a picture marks.
struct EventMark {
    MarkKind kind = MarkKind::resume;
    std::int64_t step = 0;  ///< of a resume or roll-back the step of its checkpoint
};

/// End of a run, told by itself.
struct End {
    double time = 0;
    std::optional<int> exit_code = {};  ///< nothing: nobody was left to return one
    std::string reason = {};            ///< printable
};

struct History {
    std::string path;  ///< of the file
    std::string name;  ///< that the run gives itself; empty: it has not said
    std::int64_t ranks = 0;
    std::int64_t parameters = 0;
    std::int64_t planned_steps = 0;                   ///< 0: not told
    std::array<double, tiers.size()> budget_bytes{};  ///< by MemoryTier; 0: not told
    double last_time = 0;                             ///< of the latest event
    std::vector<std::string> train_sources;           ///< printable names, where losses are told by source
    std::vector<std::string> validation_sources;      ///< the same of validations
    std::vector<Step> steps;                          ///< in order, each once
    std::vector<Validation> validations;
    std::vector<Save> saves;
    std::vector<RunEvent> events;     ///< in their order, all jobs of the run
    std::vector<EventMark> marks;     ///< in the order of the events
    std::optional<End> end;           ///< empty: the run is in progress, or was killed
    std::int64_t bad_lines = 0;       ///< that are no events
    std::int64_t first_bad_line = 0;  ///< its number, from 1
    bool is_last_line_cut = false;    ///< usual while a run writes

    /// Whether any step has waited for the lane.
    bool waits_for(std::size_t lane) const;
    /// Whether any step tells of bytes there.
    bool uses(MemoryTier tier) const;
};

}  // namespace ziggurat::plot
