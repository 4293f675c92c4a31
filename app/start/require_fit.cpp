#include "app/start/require_fit.hpp"

#include <array>
#include <vector>

#include "app/checkpoint/trained_model.hpp"
#include "base/error.hpp"
#include "comm/control.hpp"
#include "comm/node_topology.hpp"
#include "plan/plan_run.hpp"
#include "plan/report/memory_report.hpp"

namespace ziggurat::app {
namespace {

/// Gathers the bytes of all ranks, in rank order, on rank 0.
std::vector<plan::RankBytes> gather_bytes(const comm::Context& world, const plan::RankBytes& mine) {
    const std::array<double, 5> values{static_cast<double>(mine.tiers[0]), static_cast<double>(mine.tiers[1]),
                                       static_cast<double>(mine.tiers[2]),
                                       static_cast<double>(mine.libraries),
                                       static_cast<double>(mine.process)};
    const auto all = comm::gather(world, values);
    std::vector<plan::RankBytes> by_rank;
    for (std::size_t i = 0; i + values.size() <= all.size(); i += values.size()) {
        const auto at = [&](std::size_t value) { return static_cast<std::int64_t>(all[i + value]); };
        by_rank.push_back({{at(0), at(1), at(2)}, at(3), at(4)});
    }
    return by_rank;
}

}  // namespace

bool is_to_fit(const comm::Context& world,
               const spec::RunSpec& run,
               const spec::MachineSpec& machine,
               int& exit_code) {
    const auto by_rank = gather_bytes(world, plan::needs_of_rank(run, world.rank()));
    const auto nodes = comm::find_nodes(world.group(), 0);
    return is_agreed(world, exit_code, [&] {
        const auto needed = plan::footprint_of(run, machine, by_rank, nodes.node_of);
        if (!needed.fits()) {
            throw Error{ErrorKind::resource, "the run does not fit (see the plan). Nothing was started.\n" +
                                                 plan::memory_report(run, machine, needed).table};
        }
    });
}

}  // namespace ziggurat::app
