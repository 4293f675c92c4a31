/// History of a run: the numbers of its metrics.jsonl.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_array.hpp"

namespace ziggurat::plot {

/// Lanes of the fields `stall_<lane>_s`.
inline constexpr std::array<std::string_view, 8> lanes{"data",           "collective",     "channel",
                                                       "host_to_device", "device_to_host", "nvme_read",
                                                       "nvme_write",     "host_optimizer"};

/// Tiers of memory, with the names used in the fields of step and start events.
enum class MemoryTier { device, host, nvme };
inline constexpr std::array<std::string_view, 3> tiers{"device", "host", "nvme"};

/// Kind of the losses of a run, from its objective: each kind has a unit of its own.
enum class LossKind {
    next_token,  ///< nats per token
    dpo,
    ipo,
    pairs  ///< pairs of answers; the metrics do not name the objective
};

/// Returns the unit of the losses: `nats per token` or `per pair`.
std::string_view loss_unit(LossKind kind);

/// Means over pairs of answers.
struct Rewards {
    double chosen = 0, rejected = 0;
    double accuracy = 0;  ///< share of pairs whose chosen answer has the larger reward, 0 to 1

    double margin() const { return chosen - rejected; }
};

/// Share of a source in the sequences of a step.
struct SourceShare {
    std::string name = {};  ///< printable
    double share = 0;       ///< 0 to 1
    bool operator==(const SourceShare&) const = default;
};

struct Step {
    std::int64_t step = 0;
    double time = 0;             ///< end of the step, in seconds since 1970, UTC; 0: unknown
    std::optional<double> loss;  ///< empty: no loss, or it was not finite
    bool is_loss_finite = true;
    double tok_s = 0;
    double step_s = 0;
    std::array<float, lanes.size()> stall_s{};
    std::int64_t tokens = 0;  ///< since the training began
    /// By MemoryTier. Maximum over ranks if each rank has its own tier.
    EnumArray<MemoryTier, double, tiers.size()> tier_bytes{};
    double mfu = 0;  ///< 0: the peak is unknown
    double lr = 0;
    double grad_norm = 0;
    std::vector<double> loss_by_source = {};  ///< by History::train_sources; NaN: no loss in this step
    std::optional<Rewards> rewards = {};      ///< with a preference objective
    double elapsed_s = 0;  ///< from the start of the run's first job, excluding the time between jobs
};

struct Validation {
    std::int64_t step = 0;
    double loss = 0;
    std::vector<double> loss_by_source = {};  ///< by History::validation_sources; NaN: no loss
    std::optional<Rewards> rewards = {};      ///< with a preference objective
};

/// Kinds of norms in the event `norms`.
inline constexpr std::array<std::string_view, 3> norm_kinds{"gradient", "weights", "update"};

/// Norms of the units of the model in a step.
struct StepNorms {
    std::int64_t step = 0;
    std::array<std::vector<double>, norm_kinds.size()> norms = {};  ///< by History::units; NaN: not finite
};

/// A finished save.
struct Save {
    std::int64_t step = 0;
    bool is_ok = false;
    double bytes = 0;
    double seconds = 0;
    double stood_still_s = 0;  ///< time that training was blocked by it
    std::string reason = {};   ///< reason why it failed
    bool is_removed = false;   ///< it was complete, and was deleted since
};

/// Any other event of a run.
struct RunEvent {
    double time = 0;  ///< seconds since 1970, UTC; 0: unknown
    std::optional<std::int64_t> step = {};
    std::string text = {};  ///< printable
};

/// Kinds of events that a picture marks.
enum class MarkKind {
    resume,     ///< a job resumed from a checkpoint
    roll_back,  ///< the run returned to a checkpoint because of a spike
    spike,
    /// A job failed, or the next job or another rank recorded that it had ended without a last line.
    crash,
    weights  ///< the weights of the sources changed
};
inline constexpr std::array<std::string_view, 5> mark_names{"resume", "roll-back", "spike", "crash",
                                                            "weight change"};

/// Event of a run that a picture marks.
struct EventMark {
    MarkKind kind = MarkKind::resume;
    std::int64_t step =
        0;  ///< for a resume or roll-back, that of its checkpoint; for weights, the last before
    std::string text = {};                 ///< printable; empty: the name of the kind says all
    std::vector<SourceShare> shares = {};  ///< for weights: those from now on; empty: there is one source
};

/// End of a run, as recorded in its metrics.
struct End {
    double time = 0;
    std::optional<int> exit_code = {};  ///< empty: the process was killed before it returned a code
    std::string reason = {};            ///< printable
};

struct History {
    std::string path;  ///< path of the file
    std::string name;  ///< name from the run's metrics; empty: unknown
    std::int64_t ranks = 0;
    std::int64_t parameters = 0;
    std::int64_t planned_steps = 0;  ///< 0: unknown
    LossKind loss_kind = LossKind::next_token;
    std::array<double, tiers.size()> budget_bytes{};  ///< by MemoryTier; 0: unknown
    double last_time = 0;                             ///< time of the latest event
    std::vector<std::string> train_sources;           ///< printable names, if losses are given by source
    std::vector<std::string> validation_sources;      ///< same for validations
    std::vector<Step> steps;                          ///< in order, each once
    std::vector<Validation> validations;
    std::vector<std::string> units;  ///< printable names of the units that have norms
    std::vector<StepNorms> unit_norms;
    std::vector<Save> saves;
    std::vector<RunEvent> events;     ///< in order, over all jobs of the run
    std::vector<EventMark> marks;     ///< in the order of the events
    std::optional<End> end;           ///< empty: the run is in progress, or was killed
    std::int64_t bad_lines = 0;       ///< lines that are not events
    std::int64_t first_bad_line = 0;  ///< line number, from 1
    bool is_last_line_cut = false;    ///< normal while a run is writing

    /// Returns true if any step has waited for the lane.
    bool waits_for(std::size_t lane) const;
    /// Returns true if any step reports bytes in the tier.
    bool uses(MemoryTier tier) const;
    /// Returns true if any step or validation has rewards.
    bool has_rewards() const;
};

}  // namespace ziggurat::plot
