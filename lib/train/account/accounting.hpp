/// Run-time account: time of each rank by activity.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "spec/run_spec.hpp"
#include "train/account/link_use.hpp"
#include "train/account/stall_causes.hpp"
#include "train/account/traffic.hpp"
#include "train/ops/path_use.hpp"

namespace ziggurat::train {

/// Part of a run that an activity belongs to.
///
/// Activities between steps (validation, sampling, checkpoints) do not count in tokens per second.
enum class Part { of_steps, between_steps };

/// Time that a rank spends in one kind of work or wait.
///
/// Activities do not overlap. Time that no activity covers is reported as `Rest`.
struct Activity {
    std::string name;
    std::int64_t calls = 0;
    double seconds = 0;
    Part part = Part::of_steps;
};

/// Time of one phase in one direction. It is contained in the activities and shows them by kernel.
struct KernelTime {
    std::string phase;
    std::string direction;
    std::int64_t calls = 0;
    double seconds = 0;
    double flops = 0;  ///< sum over all calls; 0: not counted
};

/// Memory of one rank.
struct RankMemory {
    spec::ByTier<std::int64_t> reserved{};  ///< by the arenas
    spec::ByTier<std::int64_t> resident{};  ///< the part of them that has been touched
    // Maxima of the other private memory of the process.
    std::int64_t process_start = 0;  ///< until the first step
    std::int64_t process_step = 0;   ///< at the ends of steps
    std::int64_t process_peak = 0;   ///< until the end
};

/// Account of one rank.
struct AccountRecord {
    std::vector<Activity> activities;
    std::vector<KernelTime> kernels;
    std::vector<Flow> flows = {};     ///< over all steps of the run; empty while collectives may be running
    std::vector<LinkUse> links = {};  ///< links between tiers, over all steps of the run
    std::vector<NvmePathStats> paths = {};  ///< paths of the NVMe tier
    double idle_disk_seconds = 0;           ///< LinkCount::idle_disk_seconds
    std::vector<StallCause> stall_causes = {};
    RankMemory memory = {};
    std::int64_t first_step = 0;  ///< first counted step; 0: no step is counted
    std::int64_t last_step = 0;
    std::int64_t tokens = 0;  ///< consumed by all ranks in the counted steps
    double wall_seconds = 0;
    /// Wall time of start-up and of the first steps, which are not counted.
    double excluded_seconds = 0;
    std::int64_t excluded_steps = 0;

    std::int64_t steps() const noexcept { return first_step == 0 ? 0 : last_step - first_step + 1; }
};

/// Sums seconds per activity and kernel while a run trains.
///
/// The first two steps are not counted, because they touch memory and load code for the first time. If the
/// run has no other steps, they are counted. No allocation after the last activity() and kernel().
/// Collective: local.
class TimeAccounting {
  public:
    static constexpr std::int64_t excluded_steps = 2;

    /// \param first_step  number of the first step of this run; 1 if it starts from scratch
    explicit TimeAccounting(std::int64_t first_step = 1, std::int64_t now_ns = monotonic_ns());

    /// Returns a handle for add(): the same handle for the same name. Tables list names by first call.
    int activity(std::string_view name, Part part = Part::of_steps);
    int kernel(std::string_view phase, std::string_view direction);

    void add(int activity, double seconds, std::int64_t calls = 1) noexcept;
    void add_kernel(int kernel, double seconds, double flops, std::int64_t calls = 1) noexcept;

    /// Ends a step. Call after all times of the step are added. `tokens`: of this step, on all ranks.
    void end_step(std::int64_t tokens, std::int64_t now_ns = monotonic_ns());

    /// Returns the account up to `now_ns`.
    AccountRecord record(std::int64_t now_ns = monotonic_ns()) const;

  private:
    struct Sums {
        std::vector<Activity> activities;
        std::vector<KernelTime> kernels;
        std::int64_t tokens = 0;
        std::int64_t at_ns = 0;
    };

    Sums total_;
    Sums excluded_;  ///< all_ as it was after the excluded steps
    std::int64_t first_step_;
    std::int64_t begin_ns_;
    std::int64_t steps_ = 0;
};

/// Adds the time of its scope to an activity.
class ScopedActivity {
  public:
    ScopedActivity(TimeAccounting& account, int activity) : account_{account}, activity_{activity} {}
    ~ScopedActivity() { account_.add(activity_, seconds_between(begin_ns_, monotonic_ns())); }
    ScopedActivity(const ScopedActivity&) = delete;
    ScopedActivity& operator=(const ScopedActivity&) = delete;

  private:
    TimeAccounting& account_;
    int activity_;
    std::int64_t begin_ns_ = monotonic_ns();
};

/// Gathers one text of each rank on rank 0, in rank order. Other ranks receive an empty list.
using Gather = std::function<std::vector<std::string>(const std::string&)>;

/// Returns the records of all ranks on rank 0, and an empty list on other ranks.
///
/// Collective: over the ranks of `gather`.
std::vector<AccountRecord> gather_records(const AccountRecord& mine, const Gather& gather);

}  // namespace ziggurat::train
