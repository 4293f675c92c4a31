#include <fmt/format.h>

#include <cmath>

#include "app/bench/bench_ranks.hpp"
#include "app/bench/bench_steps.hpp"
#include "app/bench/measure_memory.hpp"
#include "app/bench/measure_options.hpp"
#include "base/text/units.hpp"

namespace ziggurat::app {

void measure_updates(BenchRanks& ranks, const BenchDetail& detail) {
    const auto rates = measure_optimizer(ranks, detail.is_brief);
    const double ranks_on_node = ranks.nodes().ranks_on_node;
    const double updates = rates.updates * ranks_on_node;
    const double host = rates.host_bandwidth * ranks_on_node;
    ranks.print(fmt::format("a node's cores update {} parameters/s; its memory {}\n", format_count(updates),
                            rate_text(host)));
    ranks.print(fmt::format("a rank's norms of gradients {}, copies to the device tier {}, back {}\n",
                            rate_text(rates.squares), rate_text(rates.to_device), rate_text(rates.to_host)));
    auto& machine = ranks.machine();
    machine.update_rate = std::round(updates);
    machine.host_bandwidth = stored_rate(host);
    machine.sweeps[spec::SweepKind::squares].forward = stored_rate(rates.squares);
    machine.host_to_device_rate = stored_rate(rates.to_device);
    machine.device_to_host_rate = stored_rate(rates.to_host);
}

int bench_optimizer(const BenchRanksOptions& options) {
    return measure_on_ranks(options.machine_file, [&](BenchRanks& ranks) {
        measure_updates(ranks, {.is_brief = options.brief, .has_tables = true});
    });
}

}  // namespace ziggurat::app
