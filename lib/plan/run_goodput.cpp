#include "plan/run_goodput.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "layout/counts.hpp"
#include "layout/state_kinds.hpp"
#include "plan/checkpoint_size.hpp"
#include "plan/cost/rates.hpp"
#include "spec/dtype.hpp"
#include "spec/stage_state.hpp"

namespace ziggurat::plan {
namespace {

/// Minimum interval if the time of a step is unknown.
constexpr double min_work_seconds = 1;
/// Maximum interval that is proposed if the length of the run is unknown.
constexpr double max_work_seconds = 1e9;

double write_rate(const spec::MachineSpec& machine) {
    return machine.checkpoint_rate > 0 ? machine.checkpoint_rate : machine.nvme_write_rate;
}

double read_rate(const spec::MachineSpec& machine) {
    return machine.checkpoint_rate > 0 ? machine.checkpoint_rate : machine.nvme_read_rate;
}

/// Returns the bytes that an asynchronous save copies: changing state that is not on NVMe.
///
/// With stages of different homes, all stages count as the one with the most such state.
double copied_bytes(const spec::RunSpec& spec) {
    const auto trained = static_cast<double>(layout::count_trained(spec));
    double most = 0;
    for (int stage = 0; stage < std::max(1, static_cast<int>(spec.stages.size())); ++stage) {
        const auto run = spec::of_stage(spec, stage);
        double bytes = 0;
        for (const auto kind : layout::state_kinds) {
            const auto* home = layout::home_of(kind, run.tiers);
            if (home != nullptr && !layout::is_of_frozen(kind) && layout::is_kept(kind, run) &&
                layout::piece_of(kind, layout::masters_of(run))) {
                bytes += (home->device + home->host) * trained *
                         static_cast<double>(spec::element_bytes(layout::type_of(kind, run.precision)));
            }
        }
        most = std::max(most, bytes);
    }
    return most;
}

FailureTimes times_of(const spec::RunSpec& spec, const spec::MachineSpec& machine, int nodes) {
    const auto bytes_of_node = static_cast<double>(checkpoint_size(spec).bytes) / nodes;
    const auto rates = rates_of(spec, machine);
    const double copy_rate = rates.has_device ? rates.device_to_host : rates.host_memory;
    const double copy = copied_bytes(spec) / spec.parallel.ranks / copy_rate;
    const double write = bytes_of_node / write_rate(machine);
    const bool is_async = spec.checkpoint.is_async;
    return {.between_failures = machine.seconds_to_failure / nodes,
            .restart = machine.restart_seconds + bytes_of_node / read_rate(machine),
            .blocked = is_async ? copy : write,
            .written_in_background = is_async ? write : 0};
}

/// Productive time between saves, in steps or, if their time is unknown, in seconds.
class Work {
  public:
    Work(const spec::RunSpec& spec, const FailureTimes& times, std::optional<double> step_seconds)
        : spec_{spec}, times_{times}, step_{step_seconds} {}

    /// Returns the seconds of the whole run.
    double max() const { return step_ ? *step_ * static_cast<double>(spec_.train.steps) : max_work_seconds; }

    /// Returns the productive seconds between saves of `every`. \pre it is a duration, or steps have a time
    double of(const spec::Interval& every) const {
        double work = max();
        if (every.steps > 0) {
            work = std::min(work, static_cast<double>(every.steps) * *step_);
        }
        if (every.tokens > 0) {
            const auto steps = static_cast<double>(every.tokens) / tokens_of_step();
            work = std::min(work, std::max(steps, 1.0) * *step_);
        }
        if (every.seconds > 0) {  // counts from the start of the previous save, up to the end of a step
            const double least = every.seconds - times_.blocked;
            work = std::min(work, step_ ? std::max(std::ceil(least / *step_), 1.0) * *step_
                                        : std::max(least, min_work_seconds));
        }
        return work;
    }

    /// Returns the best productive seconds between saves; a whole number of steps if they have a time.
    double best() const {
        const double work =
            best_work_seconds(times_, std::min(step_.value_or(min_work_seconds), max()), max());
        if (!step_) {
            return work;
        }
        const double fewer = std::max(std::floor(work / *step_ * (1 + 1e-9)), 1.0) * *step_;
        const double more = std::min(fewer + *step_, max());
        return log_slowdown(times_, fewer) <= log_slowdown(times_, more) ? fewer : more;
    }

    /// Returns the seconds from save to save.
    double interval(double work) const {
        return std::max(work, times_.written_in_background) + times_.blocked;
    }

    double tokens_of_step() const {
        return static_cast<double>(spec_.train.global_batch) * static_cast<double>(spec_.data.seq);
    }

  private:
    const spec::RunSpec& spec_;
    const FailureTimes& times_;
    std::optional<double> step_;
};

/// Returns a duration of few digits close to `seconds`.
double rounded(double seconds) {
    const double unit = seconds < 60      ? 1
                        : seconds < 600   ? 5
                        : seconds < 7200  ? 60
                        : seconds < 86400 ? 600
                                          : 3600;
    return std::max(std::round(seconds / unit), 1.0) * unit;
}

/// Returns checkpoint.every in the unit of `deck`, for saves after `work` productive seconds.
spec::Interval interval_like(const std::optional<spec::Interval>& deck,
                             double work,
                             const Work& of_run,
                             std::optional<double> step_seconds) {
    if (!deck || deck->seconds > 0) {
        return {.seconds = rounded(of_run.interval(work))};
    }
    const auto steps = std::max<std::int64_t>(std::llround(work / *step_seconds), 1);
    return deck->steps > 0
               ? spec::Interval{.steps = steps}
               : spec::Interval{.tokens = steps * static_cast<std::int64_t>(of_run.tokens_of_step())};
}

}  // namespace

bool lacks_checkpoint_rate(const spec::MachineSpec& machine) {
    return machine.seconds_to_failure > 0 && (write_rate(machine) <= 0 || read_rate(machine) <= 0);
}

std::optional<RunGoodput> run_goodput(const spec::RunSpec& spec,
                                      const spec::MachineSpec& machine,
                                      std::optional<double> step_seconds) {
    const auto& every = spec.checkpoint.every;
    const bool needs_step = !every || every->steps > 0 || every->tokens > 0;
    if (machine.seconds_to_failure <= 0 || lacks_checkpoint_rate(machine) || (needs_step && !step_seconds)) {
        return std::nullopt;
    }
    RunGoodput goodput;
    const int per_node = std::max(spec.parallel.ranks_per_node, 1);
    goodput.nodes = (spec.parallel.ranks + per_node - 1) / per_node;
    goodput.times = times_of(spec, machine, goodput.nodes);
    const Work of_run{spec, goodput.times, step_seconds};
    const double best = of_run.best();
    // A run without saves starts from its first step after each failure.
    const FailureTimes unsaved{.between_failures = goodput.times.between_failures,
                               .restart = machine.restart_seconds};
    const double work = every ? of_run.of(*every) : of_run.max();
    const double slowdown = log_slowdown(every ? goodput.times : unsaved, work);
    const double best_slowdown = log_slowdown(goodput.times, best);
    goodput.share = std::exp(-slowdown);
    goodput.best_share = std::exp(-best_slowdown);
    goodput.interval = every ? of_run.interval(work) : work;
    goodput.best_interval = of_run.interval(best);
    goodput.best = interval_like(every, best, of_run, step_seconds);
    goodput.extra_time = std::max(std::expm1(slowdown - best_slowdown), 0.0);
    if (step_seconds) {
        constexpr double seconds_per_day = 86400;
        constexpr double seconds_per_hour = 3600;
        goodput.tokens_per_day = seconds_per_day * goodput.share * of_run.tokens_of_step() / *step_seconds;
        if (machine.price_per_hour > 0) {
            goodput.price =
                goodput.nodes * machine.price_per_hour * of_run.max() * std::exp(slowdown) / seconds_per_hour;
        }
    }
    return goodput;
}

}  // namespace ziggurat::plan
