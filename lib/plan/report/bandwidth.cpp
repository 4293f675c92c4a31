#include "plan/report/bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/units.hpp"
#include "layout/families/family.hpp"
#include "spec/home_text.hpp"

namespace ziggurat::plan {

using schedule::MemoryCategory;

namespace {

using spec::Home;

/// Returns the rate of a link that moves equal amounts in both directions.
double both_ways(double read, double write) {
    return read > 0 && write > 0 ? 2 / (1 / read + 1 / write) : 0;
}

double slower(double a, double b) {
    return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b);
}

/// Returns the tokens of a micro-batch that a rank computes.
double tokens(const spec::RunSpec& spec) {
    return static_cast<double>(spec.train.micro_batch * spec.data.seq / spec.parallel.context);
}

/// Row without rates; `slices` data ranks share the bytes that the equation counts.
struct Demand {
    const char* kind;
    const Home& home;
    double flops_per_byte;
    int slices;
};

BandwidthRow row_of(const Demand& demand, const spec::MachineSpec& machine, double has) {
    BandwidthRow row{demand.kind, demand.home, demand.flops_per_byte, 0, 0, has, 0};
    const double away = 1 - demand.home.device;
    if (machine.device_flops > 0) {
        const double at_half = away * machine.device_flops / demand.flops_per_byte / demand.slices;
        row.for_half = at_half;
        row.for_most = 9 * at_half;
        row.efficiency = has > 0 ? has / (has + at_half) : 0;
    }
    return row;
}

std::string rate(double bytes_per_second) {
    return bytes_per_second > 0 ? fmt::format("{}B/s", format_count(bytes_per_second)) : "-";
}

std::int64_t planned(const MemoryTable& plan, MemoryCategory consumer) {
    for (const auto& row : plan.rows) {
        if (row.consumer == consumer) {
            return row.bytes[0];
        }
    }
    return 0;
}

}  // namespace

std::vector<BandwidthRow> bandwidths(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto& tiers = spec.tiers;
    const auto& spans = spec.sharding;
    const double t = tokens(spec);
    const double steps = static_cast<double>(spec.train.micro_batches);
    const double ci = spec.recompute.every;
    const int per_node = std::max(spec.parallel.ranks_per_node, 1);
    const double disk_in = machine.nvme_read_rate / per_node;
    const double disk_both = both_ways(machine.nvme_read_rate, machine.nvme_write_rate) / per_node;
    const double link_both = both_ways(machine.host_to_device_rate, machine.device_to_host_rate);
    std::vector<BandwidthRow> rows;
    if (const auto& home = tiers.parameters; home.device < 1) {
        const double has =
            home.nvme > 0 ? slower(disk_in, machine.host_to_device_rate) : machine.host_to_device_rate;
        rows.push_back(row_of({"parameters", home, t, spans.parameters}, machine, has));
    }
    if (const auto& home = tiers.gradients; home.device < 1) {
        const double has =
            home.nvme > 0 ? slower(disk_both, machine.device_to_host_rate) : machine.device_to_host_rate;
        rows.push_back(row_of({"gradients", home, t, spans.optimizer}, machine, has));
    }
    if (const auto& home = tiers.optimizer; home.nvme > 0) {
        rows.push_back(row_of({"optimizer", home, t * steps / 4, spans.optimizer}, machine, disk_both));
    }
    if (const auto& home = tiers.activations; home.device < 1) {
        const double has = home.nvme > 0 ? slower(disk_both, link_both) : link_both;
        const double ai = 24 * static_cast<double>(spec.model.hidden) * ci;
        rows.push_back(row_of({"activations", home, ai, 1}, machine, has));
    }
    return rows;
}

WorkingMemory working_memory(const spec::RunSpec& spec) {
    WorkingMemory max;
    const auto width = spec::element_bytes(spec.precision.compute);
    const auto split = layout::split_of(spec.parallel);
    // Products have the same extents in all layers.
    for (const auto& unit :
         {layout::embedding_unit(spec.model, split), layout::layer_unit(spec.model, 0, split),
          layout::head_unit(spec.model, split)}) {
        for (const auto& phase : unit.phases) {
            const auto bytes = 2 * width * phase.in * phase.out;
            if (bytes > max.model_state) {
                max.model_state = bytes;
                max.largest_in = phase.in;
                max.largest_out = phase.out;
            }
        }
    }
    const auto& model = spec.model;
    max.activations = width * static_cast<std::int64_t>(tokens(spec)) * spec.recompute.every *
                      (16 * model.hidden + 2 * model.heads * spec.data.seq) / spec.parallel.tensor;
    return max;
}

std::string infinity_tables(const spec::RunSpec& spec,
                            const spec::MachineSpec& machine,
                            const MemoryTable& plan) {
    const auto rows = bandwidths(spec, machine);
    if (rows.empty()) {
        return "";
    }
    auto text = fmt::format(
        "BANDWIDTH  per rank, required by ZeRO-Infinity's equations, {} tokens per micro-batch, {}\n",
        static_cast<std::int64_t>(tokens(spec)),
        machine.device_flops > 0 ? fmt::format("{}FLOP/s", format_count(machine.device_flops))
                                 : "FLOP/s unknown (set it in a machine file: --machine)");
    text += fmt::format("  {:<12} {:<34} {:>9} {:>12} {:>12} {:>12} {:>8}\n", "", "home", "FLOP/byte",
                        "for 50 %", "for 90 %", "machine has", "reaches");
    for (const auto& row : rows) {
        text += fmt::format(
            "  {:<12} {:<34} {:>9.0f} {:>12} {:>12} {:>12} {:>8}\n", row.kind, spec::write_home(row.home),
            row.flops_per_byte, rate(row.for_half), rate(row.for_most), rate(row.has),
            row.efficiency > 0 ? fmt::format("{:.0f} %", 100 * row.efficiency) : std::string{"-"});
    }
    const auto min = working_memory(spec);
    text += "WORKING MEMORY  by ZeRO-Infinity's analysis, and the device memory that the plan has for it\n";
    text += fmt::format(
        "  {:<6} {:<52} {:>12}   plan: leases {}, gradients {}\n", "MSWM",
        fmt::format("weights and gradient of a product of {} x {}", min.largest_in, min.largest_out),
        format_bytes(min.model_state), format_bytes(planned(plan, MemoryCategory::leases)),
        format_bytes(planned(plan, MemoryCategory::gradients)));
    text += fmt::format(
        "  {:<6} {:<52} {:>12}   plan: activations {}, working buffers {}, workspaces {}\n", "AWM",
        fmt::format("between two checkpoints, {} unit{} apart", spec.recompute.every,
                    spec.recompute.every == 1 ? "" : "s"),
        format_bytes(min.activations), format_bytes(planned(plan, MemoryCategory::activations)),
        format_bytes(planned(plan, MemoryCategory::working_buffers)),
        format_bytes(planned(plan, MemoryCategory::workspaces)));
    return text;
}

}  // namespace ziggurat::plan
