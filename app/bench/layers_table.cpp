#include "app/bench/layers_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "layout/families/family.hpp"
#include "plan/cost/op_costs.hpp"
#include "plan/cost/rates.hpp"

namespace ziggurat::app {
namespace {

/// Sums over ops of one name.
struct OpSum {
    int ops = 0;
    double measured = 0;
    double planned = 0;
};

/// Returns the phase of an op and its direction, or the kind of an op without a phase.
std::string name_of(const schedule::Op& op, const schedule::ModelLayout& layout) {
    if (op.unit < 0 || op.phase < 0) {
        return to_string(op.kind);
    }
    const auto& phase =
        layout.table.units[static_cast<std::size_t>(op.unit)].phases[static_cast<std::size_t>(op.phase)];
    return fmt::format("{} {}", phase.name, to_string(op.direction));
}

std::string line(const std::string& name, const OpSum& sum) {
    return fmt::format("  {:<44} {:>5} {:>12.1f} {:>12.1f} {:>+7.0f}%\n", name, sum.ops, sum.measured * 1e6,
                       sum.planned * 1e6, 100 * (sum.planned / sum.measured - 1));
}

}  // namespace

std::string layers_table(const TimedModel& timed, const spec::MachineSpec& machine) {
    const auto planned =
        plan::op_seconds(timed.program, timed.run, *timed.layout, plan::rates_of(timed.run, machine));
    std::map<std::string, OpSum> sums;
    OpSum total;
    for (std::size_t op = 0; op < planned.size(); ++op) {
        if (timed.seconds[op] <= 0) {
            continue;
        }
        auto& sum = sums[name_of(timed.program.ops[op], *timed.layout)];
        for (auto* const all : {&sum, &total}) {
            ++all->ops;
            all->measured += timed.seconds[op];
            all->planned += planned[op];
        }
    }
    std::vector<std::pair<std::string, OpSum>> sorted(sums.begin(), sums.end());
    std::ranges::sort(sorted,
                      [](const auto& a, const auto& b) { return a.second.measured > b.second.measured; });
    auto text =
        fmt::format("{:<46} {:>5} {:>12} {:>12} {:>8}\n", fmt::format("ops of {}", timed.run.model.family),
                    "ops", "measured us", "planned us", "error");
    for (const auto& [name, sum] : sorted) {
        text += line(name, sum);
    }
    return text + line("all", total) +
           fmt::format("  a step took {:.1f} us with its waits and communication\n",
                       timed.step_seconds * 1e6);
}

}  // namespace ziggurat::app
