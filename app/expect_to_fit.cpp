#include "app/expect_to_fit.hpp"

#include "base/error.hpp"
#include "plan/memory_report.hpp"

namespace ziggurat::app {

void expect_to_fit(const spec::RunSpec& run, const spec::MachineSpec& machine) {
    const auto report = plan::memory_report(run, machine);
    if (!report.fits) {
        throw Error{ErrorKind::resource,
                    "the run does not fit (see the plan). Nothing was started.\n" + report.table};
    }
}

}  // namespace ziggurat::app
