/// Account of a run: the time of each rank by activity.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "train/account/link_use.hpp"
#include "train/account/stall_causes.hpp"
#include "train/account/traffic.hpp"
#include "train/step/path_use.hpp"

namespace ziggurat::train {

/// Whether an activity belongs to training steps, or stands between them (validation, sampling, checkpoints)
/// and does not count in tokens per second.
enum class Part { of_steps, between_steps };

/// Time of one thing that a rank does or waits for. Activities do not overlap; what none covers is `Rest`.
struct Activity {
    std::string name;
    std::int64_t calls = 0;
    double seconds = 0;
    Part part = Part::of_steps;
};

/// Time of one phase in one direction: part of the activities, seen from the kernels.
struct KernelTime {
    std::string phase;
    std::string direction;
    std::int64_t calls = 0;
    double seconds = 0;
    double flops = 0;  ///< of all calls; 0: not counted
};

/// The account of one rank.
struct AccountRecord {
    std::vector<Activity> activities;
    std::vector<KernelTime> kernels;
    std::vector<Flow> flows = {};     ///< of all steps of the run; empty while collectives may be under way
    std::vector<LinkUse> links = {};  ///< the same of links between tiers
    std::vector<PathUse> paths = {};  ///< of the NVMe tier
    double idle_disk_seconds = 0;     ///< LinkCount::idle_disk_seconds
    std::vector<StallCause> stall_causes = {};
    std::int64_t first_step = 0;  ///< of the steps that are counted; 0: there is none
    std::int64_t last_step = 0;
    std::int64_t tokens = 0;  ///< of all ranks, in those steps
    double wall_seconds = 0;
    double excluded_seconds =
        0;  ///< wall time of the first steps, which are not counted, and of what precedes them
    std::int64_t excluded_steps = 0;

    std::int64_t steps() const noexcept { return first_step == 0 ? 0 : last_step - first_step + 1; }
};

/// Adds up seconds per activity and kernel while a run trains.
///
/// The first two steps are not counted (memory is touched and code is loaded for the first time), unless
/// there are no more. No allocation after the last activity() and kernel(). Collective: local.
class Account {
  public:
    static constexpr std::int64_t excluded_steps = 2;

    /// \param first_step  the number of the first step of this run, 1 when it begins afresh
    explicit Account(std::int64_t first_step = 1, std::int64_t now_ns = monotonic_ns());

    /// A handle for add(); the same one for the same name. Tables keep the order of the first calls.
    int activity(std::string_view name, Part part = Part::of_steps);
    int kernel(std::string_view phase, std::string_view direction);

    void add(int activity, double seconds, std::int64_t calls = 1) noexcept;
    void add_kernel(int kernel, double seconds, double flops, std::int64_t calls = 1) noexcept;

    /// After each step, when everything of it is added. `tokens`: of this step, all ranks.
    void end_step(std::int64_t tokens, std::int64_t now_ns = monotonic_ns());

    /// The account so far.
    AccountRecord record(std::int64_t now_ns = monotonic_ns()) const;

  private:
    struct Sums {
        std::vector<Activity> activities;
        std::vector<KernelTime> kernels;
        std::int64_t tokens = 0;
        std::int64_t at_ns = 0;
    };

    Sums all_;
    Sums excluded_;  ///< what all_ was after the excluded steps
    std::int64_t first_step_;
    std::int64_t begin_ns_;
    std::int64_t steps_ = 0;
};

/// Adds the time of its scope to an activity.
class ScopedActivity {
  public:
    ScopedActivity(Account& account, int activity) : account_{account}, activity_{activity} {}
    ~ScopedActivity() { account_.add(activity_, seconds_between(begin_ns_, monotonic_ns())); }
    ScopedActivity(const ScopedActivity&) = delete;
    ScopedActivity& operator=(const ScopedActivity&) = delete;

  private:
    Account& account_;
    int activity_;
    std::int64_t begin_ns_ = monotonic_ns();
};

/// Brings one text of each rank to rank 0, in rank order; other ranks get nothing back.
using Gather = std::function<std::vector<std::string>(const std::string&)>;

/// The records of all ranks on rank 0, nothing elsewhere. Collective: over the ranks of `gather`.
std::vector<AccountRecord> gather_records(const AccountRecord& mine, const Gather& gather);

}  // namespace ziggurat::train
