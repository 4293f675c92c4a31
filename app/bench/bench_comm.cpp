#include <fmt/format.h>

#include <vector>

#include "app/bench/bench_ranks.hpp"
#include "app/bench/bench_steps.hpp"
#include "app/bench/measure_collectives.hpp"
#include "app/bench/measure_options.hpp"
#include "base/error.hpp"
#include "plan/calibrate/link_fit.hpp"

namespace ziggurat::app {
namespace {

/// Measures one kind of groups and sets the link that they use.
void measure_link(BenchRanks& ranks,
                  LinkGroups groups,
                  const char* name,
                  spec::LinkRate spec::MachineSpec::*link,
                  const BenchDetail& detail) {
    const auto calls = measure_collectives(ranks, groups, detail.is_brief);
    std::vector<plan::LinkSample> samples;
    for (const auto& call : calls) {
        samples.push_back(call.sample);
    }
    const auto fitted = plan::fit_link(samples);
    if (detail.has_tables) {
        ranks.print(calls_table(calls, fitted));
    }
    ranks.print(fmt::format("{}: latency {:.1f} us, {} of each rank\n", name, fitted.latency * 1e6,
                            rate_text(fitted.bandwidth)));
    auto& known = ranks.machine().*link;
    known.bandwidth = stored_rate(fitted.bandwidth * known.sharers);
    known.latency = stored_duration(fitted.latency);
}

}  // namespace

void check_links(const BenchRanks& ranks) {
    if (!ranks.nodes().is_uniform) {
        throw Error{ErrorKind::resource,
                    "cannot measure links (nodes have different numbers of ranks). Start "
                    "the same number of consecutive ranks on each node."};
    }
}

void measure_links(BenchRanks& ranks, const BenchDetail& detail) {
    const auto& nodes = ranks.nodes();
    if (nodes.ranks_on_node > 1) {
        measure_link(ranks, LinkGroups::of_node, "link of a node", &spec::MachineSpec::node_link, detail);
    }
    if (nodes.num_nodes > 1) {
        measure_link(ranks, LinkGroups::over_nodes, "link between nodes", &spec::MachineSpec::network_link,
                     detail);
    }
}

int bench_comm(const BenchRanksOptions& options) {
    return measure_on_ranks(options.machine_file, [&](BenchRanks& ranks) {
        if (ranks.world().size() < 2) {
            throw Error{ErrorKind::resource,
                        "there is no link to measure (one rank was started). Start "
                        "several: mpirun -n 2 ziggurat bench comm."};
        }
        check_links(ranks);
        measure_links(ranks, {.is_brief = options.brief, .has_tables = true});
    });
}

}  // namespace ziggurat::app
