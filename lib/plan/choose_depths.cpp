#include "plan/choose_depths.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "plan/footprint.hpp"
#include "schedule/build_program.hpp"
#include "schedule/homes.hpp"
#include "schedule/optimizer_pass.hpp"

namespace ziggurat::plan {
namespace {

/// Below this, chunks do not become smaller for want of memory: what they take is little then.
constexpr std::int64_t smallest_chunk = std::int64_t{64} << 10;

constexpr double as_good = 1.02;

/// A program of so many layers has been filled long before its end.
constexpr std::int64_t layers_to_time = 12;

std::array<spec::Home, 4> homes(const spec::RunSpec& spec) {
    const auto& tiers = spec.tiers;
    return {tiers.parameters, tiers.gradients, tiers.optimizer, tiers.activations};
}

std::int64_t updated_elements(const spec::RunSpec& spec) {
    const schedule::ModelLayout model{spec, 0};
    return schedule::optimizer_chunks(spec, model).elements();
}

/// What takes as long for each layer and micro-batch.
spec::RunSpec short_of(const spec::RunSpec& spec) {
    auto shorter = spec;
    const auto& parallel = spec.parallel;
    shorter.train.micro_batches = std::min<std::int64_t>(spec.train.micro_batches, 2 * parallel.stages);
    if (spec.train.only.empty() && parallel.stages * parallel.chunks_per_stage == 1) {
        shorter.model.layers = std::min(spec.model.layers, layers_to_time);
    }
    return shorter;
}

class DepthChooser {
  public:
    DepthChooser(const spec::RunSpec& spec,
                 const spec::MachineSpec& machine,
                 spec::OpenDepths open,
                 const Rates& rates)
        : spec_{spec}, machine_{machine}, open_{open}, rates_{rates} {
        if (open.optimizer_prefetch) {
            spec_.overlap.optimizer_prefetch = 0;
        }
    }

    spec::Depths run() {
        if (open_.chunk) {
            choose_chunk();
        }
        found_.chunk_elements = spec_.tiers.chunk_elements;
        found_.prefetch = spec_.overlap.prefetch;
        found_.optimizer_prefetch = spec_.overlap.optimizer_prefetch;
        if (open_.prefetch) {
            choose_prefetch();
        }
        if (open_.optimizer_prefetch) {
            choose_optimizer_prefetch();
        }
        return found_;
    }

  private:
    /// A member of Overlap that says how far ahead something is fetched.
    using Depth = int spec::Overlap::*;

    spec::RunSpec with(Depth member, int depth) const {
        auto spec = spec_;
        spec.overlap.*member = depth;
        return spec;
    }

    std::int64_t lack(Depth member, int depth) const {
        return plan_run(with(member, depth), machine_).footprint.total_lack();
    }
    std::int64_t lack(int prefetch) const { return lack(&spec::Overlap::prefetch, prefetch); }

    void choose_chunk() {
        const auto elements = updated_elements(spec_);
        const auto usual = spec::usual_chunk(elements);
        auto& chunk = spec_.tiers.chunk_elements;
        chunk = usual;
        const bool fits =
            open_.prefetch ? halve_chunk(1) || halve_chunk(0) : halve_chunk(spec_.overlap.prefetch);
        chunk = fits ? chunk : usual;
        found_.why_chunk =
            chunk < usual ? fmt::format("the budgets hold no more of {} elements", format_grouped(elements))
                          : fmt::format("{} of a rank's {} elements", (elements + chunk - 1) / chunk,
                                        format_grouped(elements));
    }

    /// From the usual size on until the budgets hold it at that depth of prefetch; false when they never do.
    bool halve_chunk(int prefetch) {
        auto& chunk = spec_.tiers.chunk_elements;
        chunk = spec::usual_chunk(updated_elements(spec_));
        auto short_of_bytes = lack(prefetch);
        while (short_of_bytes > 0 && chunk > smallest_chunk) {
            chunk /= 2;
            const auto before = short_of_bytes;
            short_of_bytes = lack(prefetch);
            // What chunks take halves each time, so all further halvings gain less than this one did.
            if (short_of_bytes >= before - short_of_bytes && short_of_bytes > 0) {
                break;
            }
        }
        return short_of_bytes == 0;
    }

    void choose_prefetch() {
        std::vector<int> depths(deepest);
        std::iota(depths.begin(), depths.end(), 1);
        found_.prefetch = least_of_the_best(&spec::Overlap::prefetch, depths, found_.why_prefetch);
        if (const auto ahead = lack(1); found_.prefetch == 1 && ahead > 0) {
            const auto at_once = lack(0);
            found_.prefetch = at_once < ahead ? 0 : 1;  // slow, but it trains, or lacks least
            found_.why_prefetch += at_once > 0 ? "; the budgets hold none" : "; the budgets hold 0";
        }
        spec_.overlap.prefetch = found_.prefetch;
        if (is_disk_unknown()) {
            found_.why_prefetch +=
                fmt::format("; a node's disks are taken for {}B/s, 'ziggurat bench io' measures them",
                            format_count(rates_.nvme_read * std::max(spec_.parallel.ranks_per_node, 1)));
        }
    }

    void choose_optimizer_prefetch() {
        found_.optimizer_prefetch = 2 * found_.prefetch;
        if (spec_.tiers.optimizer.nvme <= 0) {
            found_.why_optimizer_prefetch = "no optimizer states on NVMe";
        } else if (found_.prefetch == 0) {
            found_.why_optimizer_prefetch = "nothing is fetched ahead";
        } else {
            std::vector<int> depths;
            for (const int times : optimizer_depths) {
                depths.push_back(times * found_.prefetch);
            }
            found_.optimizer_prefetch =
                least_of_the_best(&spec::Overlap::optimizer_prefetch, depths, found_.why_optimizer_prefetch);
        }
    }

    /// Of ascending depths, the first that no other beats, among those that the budgets hold; else the first.
    int least_of_the_best(Depth member, const std::vector<int>& depths, std::string& why) const {
        std::vector<double> seconds;
        for (const int depth : depths) {
            const auto program =
                schedule::build_program(short_of(with(member, depth)), 0, schedule::Variant::train);
            seconds.push_back(step_seconds(program, rates_));
        }
        const double most = *std::ranges::max_element(seconds);
        std::vector<std::string> shares;
        std::ranges::transform(seconds, std::back_inserter(shares),
                               [&](double s) { return fmt::format("{:.0f}", 100 * s / most); });
        why = fmt::format("planned steps at {}: {} %", fmt::join(depths, ", "), fmt::join(shares, ", "));
        for (auto tried = depths.size();;) {
            const auto end = seconds.begin() + static_cast<std::ptrdiff_t>(tried);
            const double best = *std::min_element(seconds.begin(), end);
            const auto good =
                std::find_if(seconds.begin(), end, [&](double s) { return s <= as_good * best; });
            const auto chosen = static_cast<std::size_t>(good - seconds.begin());
            const bool fits = lack(member, depths[chosen]) == 0;
            if (fits && tried < depths.size()) {
                why += fmt::format("; the budgets hold {}", depths[chosen]);
            }
            if (fits || chosen == 0) {
                return depths[chosen];
            }
            tried = chosen;
        }
    }

    bool is_disk_unknown() const {
        return machine_.nvme_read_rate <= 0 && spec_.debug.throttle.nvme_read <= 0 &&
               std::ranges::any_of(homes(spec_), [](const spec::Home& home) { return home.nvme > 0; });
    }

    spec::RunSpec spec_;
    const spec::MachineSpec& machine_;
    spec::OpenDepths open_;
    Rates rates_;
    spec::Depths found_;
};

}  // namespace

spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open,
                           const Rates& rates) {
    if (!spec::is_any_state_away(spec.tiers)) {
        return spec::depths_at_rest(spec, open);
    }
    return DepthChooser{spec, machine, open, rates}.run();
}

spec::Depths choose_depths(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           spec::OpenDepths open) {
    return choose_depths(spec, machine, open, rates_of(spec, machine));
}

}  // namespace ziggurat::plan
