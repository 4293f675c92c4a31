#include "app/check.hpp"

#include "app/commands.hpp"
#include "plan/memory_report.hpp"

namespace ziggurat::app {

int check(const Arguments& arguments) {
    return run_check({.deck = arguments.deck,
                      .overrides = arguments.overrides,
                      .ranks = arguments.ranks.value_or(0),
                      .threads = 0,
                      .machine = arguments.machine,
                      .print = arguments.print,
                      .explain = arguments.explain,
                      .memory = [](const spec::RunSpec& run) {
                          auto report = plan::memory_report(run);
                          return MemoryReport{std::move(report.table), report.fits};
                      }});
}

}  // namespace ziggurat::app
