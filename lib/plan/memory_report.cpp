#include "plan/memory_report.hpp"

#include <fmt/format.h>

#include <array>

#include "base/units.hpp"
#include "plan/bandwidth.hpp"
#include "plan/memory_table.hpp"
#include "plan/verdict.hpp"
#include "plan/wear.hpp"

namespace ziggurat::plan {
namespace {

/// `device 1.20 GiB per rank, host 3.00 GiB per node`: what stays free, or lacks, of the budgets.
std::string left(const Footprint& footprint, bool fits) {
    constexpr std::array names{"device {} per rank", "host {} per node", "nvme {} per node"};
    std::string text;
    for (std::size_t t = 0; t < names.size(); ++t) {
        const auto lack = footprint.lack(static_cast<spec::Tier>(t));
        const bool is_told = footprint.budget[t] > 0 && (t == 0 || footprint.needed[t] > 0);
        if (fits ? is_told : lack > 0) {
            const auto bytes = fits ? footprint.budget[t] - footprint.needed[t] : lack;
            text += (text.empty() ? "" : ", ") + fmt::format(fmt::runtime(names[t]), format_bytes(bytes));
        }
    }
    if (!fits && footprint.memory_lack() > 0) {
        text += (text.empty() ? "" : ", ") +
                fmt::format("memory {} per node", format_bytes(footprint.memory_lack()));
    }
    return text;
}

}  // namespace

MemoryReport memory_report(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto plan = plan_run(spec, machine);
    const auto table = memory_usage(spec, plan.fullest, plan.rank_bytes);
    MemoryReport report;
    report.footprint = plan.footprint;
    report.fits = plan.footprint.fits();
    report.table = memory_table(spec, plan.fullest.rank, table) + verdict(spec, plan.footprint, table);
    report.infinity = infinity_tables(spec, machine, table) + wear_line(spec, machine, plan.fullest);
    if (report.fits) {
        return report;
    }
    if (plan.fullest.variant == schedule::Variant::evaluate) {
        report.table +=
            "  its deck is that of the checkpoint: more ranks share the model, or a node with more memory\n";
        return report;
    }
    report.remedies = find_remedies(spec, machine, plan);
    for (const auto& remedy : report.remedies) {
        report.table += remedy.fits ? fmt::format("  fits with {}: leaves {}\n", remedy.overrides,
                                                  left(remedy.footprint, true))
                                    : fmt::format("  helps most, and does not suffice: {}: lacks {}\n",
                                                  remedy.overrides, left(remedy.footprint, false));
    }
    return report;
}

}  // namespace ziggurat::plan
