#include "plan/report/wear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text/units.hpp"
#include "layout/counts.hpp"
#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Link;
using schedule::PayloadKind;

/// Returns the bytes that a rank moves over each link in a step, for a program with ops of `layers`
/// layers.
EnumArray<Link, double> moved(const spec::RunSpec& spec,
                              const schedule::Program& program,
                              std::int64_t layers) {
    const auto by_cargo = schedule::bytes_by_payload(program);
    const auto of_layers = schedule::bytes_by_payload(
        program, [&](const schedule::Buffer& buffer) { return buffer.unit >= 1 && buffer.unit <= layers; });
    const double more_layers =
        static_cast<double>(spec.model.layers) / static_cast<double>(std::max<std::int64_t>(layers, 1)) - 1;
    const double more = static_cast<double>(spec.train.micro_batches) /
                        static_cast<double>(std::max(program.microbatches, 1));
    EnumArray<Link, double> sum{};
    for (std::size_t payload = 0; payload < by_cargo.size(); ++payload) {
        for (std::size_t link = 0; link < sum.size(); ++link) {
            const bool is_parameter_write = static_cast<PayloadKind>(payload) == PayloadKind::parameters &&
                                            static_cast<Link>(link) == Link::nvme_write;
            const bool is_once =
                static_cast<PayloadKind>(payload) == PayloadKind::optimizer || is_parameter_write;
            const double bytes = static_cast<double>(by_cargo[payload][link]) +
                                 more_layers * static_cast<double>(of_layers[payload][link]);
            sum[link] += (is_once ? 1 : more) * bytes;
        }
    }
    return sum;
}

}  // namespace

Wear wear(const spec::RunSpec& spec,
          const spec::MachineSpec& machine,
          const schedule::Program& program,
          std::int64_t layers) {
    const auto bytes = moved(spec, program, layers);
    const double per_node = std::max(spec.parallel.ranks_per_node, 1);
    const auto paths = static_cast<double>(std::max<std::size_t>(spec.tiers.nvme_paths.size(), 1));
    const double flops = layout::flops_per_token(spec) * static_cast<double>(spec.train.global_batch) *
                         static_cast<double>(spec.data.seq) / spec.parallel.ranks;
    Wear made;
    made.bytes_per_step = bytes[Link::nvme_write] * per_node / paths;
    const auto takes = [&](double amount, double rate) {
        made.min_step_seconds = std::max(made.min_step_seconds, rate > 0 ? amount / rate : 0);
    };
    takes(flops, machine.device_flops);
    takes(bytes[Link::nvme_read] * per_node, machine.nvme_read_rate);
    takes(bytes[Link::nvme_write] * per_node, machine.nvme_write_rate);
    takes(bytes[Link::host_to_device], machine.host_to_device_rate);
    takes(bytes[Link::device_to_host], machine.device_to_host_rate);
    return made;
}

std::string wear_line(const spec::RunSpec& spec,
                      const spec::MachineSpec& machine,
                      const schedule::Program& program,
                      std::int64_t layers) {
    const auto found = wear(spec, machine, program, layers);
    if (found.bytes_per_step <= 0) {
        return "";
    }
    const auto bytes = [](double amount) { return format_bytes(static_cast<std::int64_t>(amount)); };
    auto text = fmt::format("WEAR  a step writes {} to each of {} paths", bytes(found.bytes_per_step),
                            std::max<std::size_t>(spec.tiers.nvme_paths.size(), 1));
    const double per_day = found.max_bytes_per_day();
    if (per_day > 0) {
        text += fmt::format(", at most {} a day (steps of {} or longer)", bytes(per_day),
                            format_duration(found.min_step_seconds));
    }
    const auto endurance = static_cast<double>(spec.tiers.endurance_bytes);
    if (endurance > 0) {
        text += fmt::format("; tiers.nvme.endurance of {} lasts {:.0f} steps", bytes(endurance),
                            endurance / found.bytes_per_step);
        if (per_day > 0) {
            text += fmt::format(", at least {:.1f} days", endurance / per_day);
        }
    }
    return text + "\n";
}

}  // namespace ziggurat::plan
