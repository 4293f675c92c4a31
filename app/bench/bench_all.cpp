#include <fmt/format.h>

#include <cmath>

#include "app/bench/bench_ranks.hpp"
#include "app/bench/bench_steps.hpp"
#include "app/bench/measure_disks.hpp"
#include "app/bench/measure_options.hpp"
#include "base/text/units.hpp"
#include "comm/throw_on_all_ranks.hpp"

namespace ziggurat::app {

double stored_rate(double bytes_per_second) {
    constexpr double mega = 1e6;
    return std::ceil(bytes_per_second / mega) * mega;
}

double stored_duration(double seconds) {
    constexpr double nano = 1e9;
    return std::round(seconds * nano) / nano;
}

std::string rate_text(double bytes_per_second) {
    return format_count(bytes_per_second) + "B/s";
}

int bench_all(const BenchAllOptions& options) {
    const BenchDetail detail{.is_brief = options.brief};
    return measure_on_ranks(options.machine_file, [&](BenchRanks& ranks) {
        comm::throw_on_all_ranks(ranks.world(), "cannot read the folders", [&] {
            if (ranks.is_first()) {
                check_folders(options.paths);
            }
        });
        check_links(ranks);
        measure_kernels(ranks, detail);
        measure_updates(ranks, detail);
        if (ranks.world().size() > 1) {
            measure_links(ranks, detail);
        }
        if (options.paths.empty()) {
            return;
        }
        comm::throw_on_all_ranks(ranks.world(), "cannot measure the disks", [&] {
            if (ranks.is_first()) {
                measure_disks(options.paths, options.size_bytes, ranks.machine());
            }
        });
    });
}

}  // namespace ziggurat::app
