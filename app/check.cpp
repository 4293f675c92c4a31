#include "app/check.hpp"

#include "app/commands.hpp"
#include "app/launch.hpp"
#include "plan/choose_depths.hpp"
#include "plan/choose_homes.hpp"
#include "plan/memory_report.hpp"

namespace ziggurat::app {

int check(const Arguments& arguments) {
    return run_check(
        {.deck = arguments.deck,
         .overrides = arguments.overrides,
         .ranks = arguments.ranks.value_or(0),
         .threads = arguments.machine.empty() ? threads_if_started(arguments.ranks.value_or(0)) : 0,
         .machine = arguments.machine,
         .print = arguments.print,
         .explain = arguments.explain,
         .choose_homes = plan::choose_homes,
         .choose_depths = [](const spec::RunSpec& run, const spec::MachineSpec& machine,
                             spec::OpenDepths open) { return plan::choose_depths(run, machine, open); },
         .memory =
             [](const spec::RunSpec& run, const spec::MachineSpec& machine) {
                 auto report = plan::memory_report(run, machine);
                 return MemoryReport{report.table + report.infinity, report.fits};
             }});
}

}  // namespace ziggurat::app
