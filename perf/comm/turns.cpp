#include "perf/comm/turns.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "comm/check_mpi.hpp"

namespace ziggurat::perf {
namespace {

double slowest(const comm::Communicator& world, double seconds) {
    comm::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, world.native()),
                    "MPI_Allreduce");
    return seconds;
}

double sample(const comm::Communicator& world, const std::function<void()>& work, int executions) {
    comm::check_mpi(MPI_Barrier(world.native()), "MPI_Barrier");
    const auto begin = monotonic_ns();
    for (int i = 0; i < executions; ++i) {
        work();
    }
    return slowest(world, seconds_between(begin, monotonic_ns())) / executions;
}

}  // namespace

std::vector<Timing> time_in_turn(const comm::Communicator& world,
                                 const std::vector<std::function<void()>>& competitors,
                                 const RetryLimits& patience) {
    ZG_EXPECTS(patience.rounds >= 3);
    std::vector<int> executions;
    for (const auto& work : competitors) {
        sample(world, work, 1);
        const double seconds = std::max(sample(world, work, 1), 1e-7);
        executions.push_back(static_cast<int>(std::clamp(patience.sample_seconds / seconds, 1.0, 1e4)));
    }
    std::vector<std::vector<double>> samples(competitors.size());
    for (int round = 0; round < patience.rounds; ++round) {
        for (std::size_t i = 0; i < competitors.size(); ++i) {
            samples[i].push_back(sample(world, competitors[i], executions[i]));
        }
    }
    std::vector<Timing> timings;
    for (auto& of_one : samples) {
        std::ranges::sort(of_one);
        timings.push_back({.median = of_one[of_one.size() / 2], .min = of_one.front(), .max = of_one.back()});
    }
    return timings;
}

}  // namespace ziggurat::perf
