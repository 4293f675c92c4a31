#include "app/deck/plan_summary.hpp"

#include <fmt/format.h>

#include "app/deck/check.hpp"
#include "app/output/time_text.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "plan/planned_time.hpp"
#include "plan/rank_programs.hpp"
#include "plan/reduced_run.hpp"
#include "plan/time_to_train.hpp"
#include "schedule/build_program.hpp"

namespace ziggurat::app {
namespace {

std::string machine_line(const spec::RunSpec& run, const spec::MachineSpec& machine) {
    const auto per_node = run.parallel.ranks_per_node;
    const auto nodes = (run.parallel.ranks + per_node - 1) / per_node;
    return fmt::format("machine   {}: {} node{} with {} rank{}{}\n", printable(machine.name),
                       format_grouped(nodes), nodes == 1 ? "" : "s", per_node, per_node == 1 ? "" : "s",
                       nodes == 1 ? "" : " each");
}

/// Returns the number of ops of rank 0.
///
/// Long programs are not built to count their ops, which would take as
/// long as a plan.
std::string program_line(const spec::RunSpec& run, const plan::Watch& watch) {
    if (is_long_program(run)) {
        return fmt::format(
            "program   {} passes through layers per step; its ops are not counted (use --program "
            "for that)\n",
            format_grouped(plan::passes_of_step(run)));
    }
    const auto ops = schedule::build_program(run, 0, schedule::Variant::train).ops.size();
    if (watch) {
        watch(ops);
    }
    return fmt::format("program   rank 0 executes {} ops per step\n",
                       format_grouped(static_cast<std::int64_t>(ops)));
}

/// Returns the lines about the time of a step.
std::string planned(const deck::LoadedDeck& loaded) {
    const auto& run = loaded.run;
    const auto& machine = loaded.machine;
    if (!plan::missing_rates(run, machine).empty()) {
        return time_text(run, machine, std::nullopt);
    }
    const auto time = plan::planned_time(run, machine);
    return time_text(run, machine, time.step_seconds, loaded.has_kept_peak) +
           planned_parts(time, run, machine);
}

}  // namespace

bool is_long_program(const spec::RunSpec& run) {
    return plan::passes_of_step(run) * plan::weight_of_layer(run) > plan::max_passes;
}

std::string plan_summary(const deck::LoadedDeck& loaded,
                         const Epochs& epochs,
                         const plan::MemoryReport& memory,
                         const plan::Watch& watch) {
    const auto& run = loaded.run;
    return machine_line(run, loaded.machine) + summary(run, epochs) +
           (loaded.depths.empty() ? "" : fmt::format("ahead     {}\n", loaded.depths)) + planned(loaded) +
           memory.table + memory.process + memory.infinity + program_line(run, watch) +
           "more      --program: ops of a rank per step, by unit and lane; --program --all: every op; "
           "--nodes, --ranks, --machine: other sizes and machines\n";
}

}  // namespace ziggurat::app
