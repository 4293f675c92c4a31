#include "plan/calibrate/op_rates.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>

#include "base/contract.hpp"
#include "plan/cost/op_costs.hpp"
#include "plan/cost/rates.hpp"

namespace ziggurat::plan {
namespace {

using spec::SweepKind;

constexpr double no_limit = std::numeric_limits<double>::infinity();
/// Minimum share of an op's time that remains after its overhead.
constexpr double min_rest = 0.05;

/// Returns rates with which all work takes no time.
Rates instant_rates(const spec::RunSpec& spec) {
    Rates rates;
    rates.products.forward.flops = no_limit;
    rates.attention = {no_limit, no_limit};
    for (auto& sweep : rates.sweeps) {
        sweep = {no_limit, no_limit};
    }
    rates.memory = rates.host_memory = no_limit;
    rates.nvme_read = rates.nvme_write = no_limit;
    rates.host_to_device = rates.device_to_host = no_limit;
    rates.control_to_device = rates.control_to_host = no_limit;
    rates.node_link = rates.network_link = {.bandwidth = no_limit, .latency = 0};
    rates.ranks_per_node = spec.parallel.ranks_per_node;
    rates.has_device = spec.tiers.device == spec::DeviceKind::cuda;
    return rates;
}

/// Returns the amount of work of each op that `limit` makes take time, in units of its rate.
std::vector<double> work_of(const TimedProgram& timed, const std::function<void(Rates&)>& limit) {
    auto rates = instant_rates(timed.spec);
    limit(rates);
    return op_seconds(timed.program, timed.spec, timed.model, rates);
}

std::vector<double> products_of(const TimedProgram& timed) {
    return work_of(timed, [](Rates& rates) { rates.products.forward.flops = 1; });
}

std::vector<double> launches_of(const TimedProgram& timed) {
    return work_of(timed, [](Rates& rates) { rates.op_overhead = 1; });
}

std::vector<double> sweeps_of(const TimedProgram& timed) {
    return work_of(timed, [](Rates& rates) {
        for (auto& sweep : rates.sweeps) {
            sweep = {1, 1};
        }
    });
}

/// Sums of work and of its seconds.
struct WorkSum {
    double work = 0;
    double seconds = 0;

    double rate() const { return seconds > 0 ? work / seconds : 0; }
};

}  // namespace

double op_overhead(const TimedProgram& timed) {
    ZG_EXPECTS(timed.seconds.size() == timed.program.ops.size());
    const auto products = products_of(timed);
    const auto launches = launches_of(timed);
    const auto sweeps = sweeps_of(timed);
    std::vector<double> of_launch;
    for (std::size_t op = 0; op < timed.seconds.size(); ++op) {
        if (timed.seconds[op] > 0 && products[op] == 0 && launches[op] > 0 && sweeps[op] > 0) {
            of_launch.push_back(timed.seconds[op] / launches[op]);
        }
    }
    if (of_launch.empty()) {
        return 0;
    }
    const auto middle = of_launch.begin() + static_cast<std::ptrdiff_t>(of_launch.size() / 2);
    std::nth_element(of_launch.begin(), middle, of_launch.end());
    return *middle;
}

OpRates op_rates(std::span<const TimedProgram> timed, double overhead) {
    // By program and op: time of the work itself, 0 for ops with products.
    std::vector<std::vector<double>> rests;
    for (const auto& of : timed) {
        ZG_EXPECTS(of.seconds.size() == of.program.ops.size());
        const auto products = products_of(of);
        const auto launches = launches_of(of);
        auto& rest = rests.emplace_back(of.seconds.size());
        for (std::size_t op = 0; op < rest.size(); ++op) {
            const double all = products[op] > 0 ? 0 : of.seconds[op];
            rest[op] = std::max(all - launches[op] * overhead, min_rest * all);
        }
    }
    const auto rate = [&](const std::function<void(Rates&)>& limit) {
        WorkSum sum;
        for (std::size_t i = 0; i < timed.size(); ++i) {
            const auto work = work_of(timed[i], limit);
            for (std::size_t op = 0; op < work.size(); ++op) {
                if (work[op] > 0 && rests[i][op] > 0) {
                    sum.work += work[op];
                    sum.seconds += rests[i][op];
                }
            }
        }
        return sum.rate();
    };
    OpRates found;
    found.attention.forward_flops = rate([](Rates& rates) { rates.attention.forward_flops = 1; });
    found.attention.backward_flops = rate([](Rates& rates) { rates.attention.backward_flops = 1; });
    for (std::size_t i = 0; i < found.sweeps.size(); ++i) {
        found.sweeps[i].forward = rate([i](Rates& rates) { rates.sweeps[i].forward = 1; });
        found.sweeps[i].backward = rate([i](Rates& rates) { rates.sweeps[i].backward = 1; });
    }
    return found;
}

}  // namespace ziggurat::plan
