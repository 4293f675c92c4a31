#include "app/output/time_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tuple>
#include <vector>

#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "layout/flop_conventions.hpp"
#include "plan/report/time_report.hpp"
#include "plan/time_to_train.hpp"
#include "spec/depths.hpp"

namespace ziggurat::app {
namespace {

/// Returns the parts of the run that plan::planned_step_seconds does not count:
/// `, without communication, validation and checkpoints`.
std::string left_out(const spec::RunSpec& run) {
    std::vector<const char*> parts;
    if (run.validate.every) {
        parts.push_back("validation");
    }
    if (run.checkpoint.every) {
        parts.push_back("checkpoints");
    }
    if (parts.empty()) {
        return "";
    }
    const auto last = parts.back();
    parts.pop_back();
    return parts.empty() ? fmt::format(", without {}", last)
                         : fmt::format(", without {} and {}", fmt::join(parts, ", "), last);
}

/// Returns the command that measures the rates of a machine, with those of disks if `uses_disks`.
std::string measuring_command(const spec::RunSpec& run, bool uses_disks, const char* options = "") {
    const int ranks = run.parallel.ranks_per_node;
    return fmt::format("{}ziggurat bench all{}{}", ranks > 1 ? fmt::format("mpirun -n {} ", ranks) : "",
                       options, uses_disks ? " with the folders of tiers.nvme.paths" : "");
}

/// Returns a line if the rates were measured with another number of ranks or threads; empty otherwise.
///
/// Ranks of a node share cores, memory and links.
std::string other_ranks_line(const spec::RunSpec& run, const spec::MachineSpec& machine) {
    const int ranks = run.parallel.ranks_per_node;
    const int threads = run.parallel.threads;
    const bool has_other_ranks = machine.measured_ranks > 0 && machine.measured_ranks != ranks;
    const bool has_other_threads =
        !machine.has_device && machine.threads_per_rank > 0 && machine.threads_per_rank != threads;
    if (!has_other_ranks && !has_other_threads) {
        return "";
    }
    const auto [what, measured, here] =
        has_other_ranks
            ? std::tuple{fmt::format("rank{} on a node", machine.measured_ranks == 1 ? "" : "s"),
                         machine.measured_ranks, ranks}
            : std::tuple{fmt::format("thread{} per rank", machine.threads_per_rank == 1 ? "" : "s"),
                         machine.threads_per_rank, threads};
    return fmt::format("          the rates were measured with {} {}, this run has {}; measure again: {}{}\n",
                       measured, what, here,
                       !has_other_ranks ? fmt::format("OMP_NUM_THREADS={} ", threads) : std::string{},
                       measuring_command(run, spec::is_any_state_on_nvme(run)));
}

/// Returns the time and the speed of steps that take at least `step_seconds`.
///
/// The peak is that of large products alone: all other work of a step takes time as well.
std::string lower_bound_text(const spec::RunSpec& run,
                             const spec::MachineSpec& machine,
                             double step_seconds,
                             const plan::PlannedSpeed& speed) {
    return fmt::format(
        "time      estimated: a step takes at least {}, all {} steps take at least {}{}\n"
        "          the only known rate of {} is the best one of products in earlier trainings: {}FLOP/s per "
        "rank. Measure all rates for a better estimate: {}\n"
        "speed     at most {} tok/s, {} per rank, {:.3g} TFLOP/s per rank\n",
        format_duration(step_seconds), format_grouped(run.train.steps),
        format_duration(step_seconds * static_cast<double>(run.train.steps)), left_out(run),
        printable(machine.name), format_count(machine.device_flops),
        measuring_command(run, spec::is_any_state_on_nvme(run), " --brief"), format_count(speed.tokens_per_s),
        format_count(speed.tokens_per_s / run.parallel.ranks), speed.flops_per_rank * 1e-12);
}

}  // namespace

std::string time_text(const spec::RunSpec& run,
                      const spec::MachineSpec& machine,
                      std::optional<double> step_seconds,
                      bool is_lower_bound) {
    if (!step_seconds) {
        const auto missing = plan::missing_rates(run, machine);
        return fmt::format("time      unknown: {} does not give {}. Measure on that machine: {}\n",
                           printable(machine.name), missing,
                           measuring_command(run, missing.find("nvme") != std::string::npos));
    }
    const auto speed = plan::speed_of(run, machine, *step_seconds);
    if (is_lower_bound) {
        return lower_bound_text(run, machine, *step_seconds, speed);
    }
    const auto& convention = layout::row_of(layout::own_convention());
    const auto mfu =
        speed.mfu ? fmt::format(", mfu {:.1f}% of {}FLOP/s ({}: {})", 100 * *speed.mfu,
                                format_count(spec::peak_of(machine)), convention.name, convention.meaning)
                  : std::string{};
    return fmt::format(
               "time      estimated: a step takes {} at the rates of {}, all {} steps take {}{}\n"
               "speed     {} tok/s, {} per rank, {:.3g} TFLOP/s per rank{}\n",
               format_duration(*step_seconds), printable(machine.name), format_grouped(run.train.steps),
               format_duration(*step_seconds * static_cast<double>(run.train.steps)), left_out(run),
               format_count(speed.tokens_per_s), format_count(speed.tokens_per_s / run.parallel.ranks),
               speed.flops_per_rank * 1e-12, mfu) +
           other_ranks_line(run, machine);
}

std::string planned_parts(const plan::PlannedTime& time,
                          const spec::RunSpec& run,
                          const spec::MachineSpec& machine) {
    const auto hidden = plan::hidden_words(time);
    const double redone = plan::redone_step_seconds(run, machine);
    const double practical = plan::practicality(run, machine, time.step_seconds);
    return fmt::format("bound by  {}\n", plan::bound_words(time)) +
           (hidden.empty() ? "" : fmt::format("hidden    {}\n", hidden)) + plan::time_table(time) +
           (redone > 0 ? fmt::format("repeated  {}: a step whose gradient is clipped repeats its updates\n",
                                     format_duration(redone))
                       : "") +
           (spec::is_any_state_away(run)
                ? fmt::format("practical {:.2f}: with all state on the device a step would take {}\n",
                              practical, format_duration(practical * time.step_seconds))
                : "");
}

}  // namespace ziggurat::app
