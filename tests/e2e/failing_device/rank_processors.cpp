/// Processors of a rank whose device fails according to ZIGGURAT_TEST_FAILURE.
///
/// Example: "2 lost 5000" for the 5000th call of rank 2; see tests/support/device/failing_device.hpp.
#include "app/start/rank_processors.hpp"

#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>

#include "app/start/emulated_device/emulated_devices.hpp"
#include "tests/support/device/failing_device.hpp"

namespace ziggurat::app {

RankProcessors::RankProcessors(const spec::RunSpec& run, const comm::Context& world)
    : waits_{world.waits()},
      thread_{std::make_unique<device::HostThread>(&waits_)},
      runtime_{std::in_place, run.parallel.threads, *thread_},
      devices_{emulated_devices(run.parallel.threads, *thread_, waits_)} {
    const char* const text = std::getenv("ZIGGURAT_TEST_FAILURE");
    std::istringstream asked{text == nullptr ? "" : text};
    int rank = -1;
    std::string name;
    std::int64_t call = 0;
    asked >> rank >> name >> call;
    const auto failure = test::device_failure_named(name);
    if (!asked || !failure) {
        throw std::invalid_argument{"ZIGGURAT_TEST_FAILURE: rank, failure and call, as '2 lost 5000'"};
    }
    if (rank == world.rank()) {
        devices_.device = std::make_shared<test::FailingDevice>(devices_.device, run.parallel.threads,
                                                                *failure, call, &waits_);
    }
}

}  // namespace ziggurat::app
