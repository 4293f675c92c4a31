#include "plan/memory_report.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/units.hpp"
#include "plan/bandwidth.hpp"
#include "plan/memory_table.hpp"
#include "plan/plan_run.hpp"
#include "plan/step_time.hpp"
#include "plan/verdict.hpp"
#include "plan/wear.hpp"
#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::plan {
namespace {

/// `device 1.20 GiB per rank, host 3.00 GiB per node`: what stays free, or lacks, of the budgets.
std::string left(const Footprint& footprint, bool fits) {
    constexpr std::array names{"device {} per rank", "host {} per node", "nvme {} per node"};
    std::string text;
    for (std::size_t t = 0; t < names.size(); ++t) {
        const auto limit = footprint.limit(static_cast<spec::Tier>(t));
        const auto lack = footprint.lack(static_cast<spec::Tier>(t));
        const bool is_told = limit < spec::unlimited && (t == 0 || footprint.needed[t] > 0);
        if (fits ? is_told : lack > 0) {
            const auto bytes = fits ? limit - footprint.needed[t] : lack;
            text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(names[t]), format_bytes(bytes));
        }
    }
    if (!fits && footprint.memory_lack() > 0) {
        text += (text.empty() ? "" : ", ") +
                fmt::format("memory {} per node", format_bytes(footprint.memory_lack()));
    }
    return text;
}

/// Of the asked shares of a kind, what whole chunks make of them; empty where that is much the same.
std::string as_cut(const char* kind, const spec::Home& asked, const std::array<std::int64_t, 3>& bytes) {
    constexpr double much_the_same = 0.05;
    constexpr std::array names{"device", "host", "nvme"};
    const std::array wanted{asked.device, asked.host, asked.nvme};
    const auto all = static_cast<double>(bytes[0] + bytes[1] + bytes[2]);
    std::string text;
    bool is_off = false;
    for (std::size_t t = 0; all > 0 && t < names.size(); ++t) {
        const double got = static_cast<double>(bytes[t]) / all;
        is_off = is_off || std::abs(got - wanted[t]) > much_the_same || (wanted[t] > 0 && bytes[t] == 0);
        if (wanted[t] > 0) {
            text += fmt::format("{}{} {:.0f}%", text.empty() ? "" : ", ", names[t], 100 * got);
        }
    }
    return is_off ? fmt::format(
                        "  tiers.home.{} is cut between chunks, as {}; a smaller tiers.chunk cuts it finer\n",
                        kind, text)
                  : "";
}

std::string shares_as_cut(const spec::Tiers& tiers, const schedule::Program& program) {
    using schedule::Cargo;
    const auto at_home = schedule::bytes_at_home(program);
    const auto of = [&](Cargo cargo) { return at_home[static_cast<std::size_t>(cargo)]; };
    return as_cut("parameters", tiers.parameters, of(Cargo::parameters)) +
           as_cut("gradients", tiers.gradients, of(Cargo::gradients)) +
           as_cut("optimizer", tiers.optimizer, of(Cargo::optimizer));
}

}  // namespace

MemoryReport memory_report(const spec::RunSpec& spec,
                           const spec::MachineSpec& machine,
                           const std::optional<Footprint>& known,
                           const Watch& watch) {
    auto plan = plan_run(spec, machine, PlannedRanks::several, watch);
    plan.footprint = known.value_or(plan.footprint);
    const auto table = memory_usage(spec, plan.fullest, plan.rank_bytes);
    MemoryReport report;
    report.rank = plan.fullest.rank;
    report.usage = table;
    report.footprint = plan.footprint;
    report.fits = plan.footprint.fits();
    report.how_exact = plan.how_exact;
    report.table = memory_table(spec, plan.fullest.rank, table) +
                   (plan.how_exact.empty() ? "" : fmt::format("  planned {}\n", plan.how_exact)) +
                   shares_as_cut(spec.tiers, plan.fullest) + verdict(spec, plan.footprint, table);
    const auto slowed = throttled(machine, spec);
    report.infinity =
        infinity_tables(spec, slowed, table) + wear_line(spec, slowed, plan.fullest, plan.built_layers);
    if (report.fits || plan.footprint.has_too_many_threads()) {
        return report;
    }
    if (plan.fullest.variant == schedule::Variant::evaluate) {
        report.table +=
            "  its deck is that of the checkpoint: more ranks share the model, or a node with more memory\n";
        return report;
    }
    report.remedies = find_remedies(spec, machine, plan, watch);
    for (const auto& remedy : report.remedies) {
        report.table += remedy.fits ? fmt::format("  fits with {}: leaves {}\n", remedy.overrides,
                                                  left(remedy.footprint, true))
                                    : fmt::format("  helps most, and does not suffice: {}: lacks {}\n",
                                                  remedy.overrides, left(remedy.footprint, false));
    }
    return report;
}

}  // namespace ziggurat::plan
