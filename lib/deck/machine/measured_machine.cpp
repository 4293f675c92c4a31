#include "deck/machine/measured_machine.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "deck/machine/machine.hpp"
#include "deck/machine/machine_figures.hpp"
#include "deck/schema/schema.hpp"
#include "deck/values/quantities.hpp"

namespace ziggurat::deck {
namespace {

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string{name.data()}
                                                            : std::string{"unknown"};
}

/// Returns a line `key: value`; empty if the value is unknown.
std::string line(const char* key, const std::string& value, bool is_known) {
    return is_known ? fmt::format("{}: {}\n", key, value) : std::string{};
}

std::string write_figure(FigureForm form, double value) {
    switch (form) {
        case FigureForm::whole:
            return std::to_string(std::llround(value));
        case FigureForm::rate:
            return write_rate(value);
        case FigureForm::duration:
            return write_duration(value);
        case FigureForm::real:
            return write_real(value);
    }
    return {};
}

/// Returns the keys and values of all known figures; keys of one map are adjacent.
std::vector<std::pair<std::string, std::string>> figure_lines(spec::MachineSpec machine) {
    std::vector<std::pair<std::string, std::string>> lines;
    spec::MachineSpec unknown;
    for (const auto& figure : machine_figures()) {
        if (const double value = figure.of(machine); value != figure.of(unknown)) {
            lines.emplace_back(figure.key, write_figure(figure.form, value));
        }
        const std::string_view key = figure.key;
        for (const auto* link : {&machine.node_link, &machine.network_link}) {
            const auto* name = link == &machine.node_link ? "node_link" : "network_link";
            if (key == std::string{name} + ".latency" && link->sharers > 1) {
                lines.emplace_back(std::string{name} + ".sharers", std::to_string(link->sharers));
            }
        }
    }
    return lines;
}

/// Returns keys with dots, such as `node_link.latency`, as maps.
std::string nested(const std::vector<std::pair<std::string, std::string>>& lines) {
    std::string text;
    std::vector<std::string> open;  // names of the maps around the line before
    for (const auto& [key, value] : lines) {
        std::vector<std::string> names;
        for (std::size_t begin = 0; begin <= key.size();) {
            const auto end = std::min(key.find('.', begin), key.size());
            names.push_back(key.substr(begin, end - begin));
            begin = end + 1;
        }
        std::size_t depth = 0;
        while (depth + 1 < names.size() && depth < open.size() && names[depth] == open[depth]) {
            ++depth;
        }
        for (; depth + 1 < names.size(); ++depth) {
            text += fmt::format("{:{}}{}:\n", "", 2 * depth, names[depth]);
        }
        text += fmt::format("{:{}}{}: {}\n", "", 2 * depth, names.back(), value);
        open.assign(names.begin(), names.end() - 1);
    }
    return text;
}

}  // namespace

std::string measured_file(const Environment& environment) {
    const auto config = environment("XDG_CONFIG_HOME");
    const auto home = environment("HOME");
    const std::string folder = config && !config->empty() ? *config
                               : home && !home->empty()   ? *home + "/.config"
                                                          : "";
    return folder.empty() ? folder : folder + "/ziggurat/machine-" + host_name() + ".yaml";
}

void add_measured(const std::string& path, spec::MachineSpec& machine, Diagnostics& found) {
    std::error_code error;
    if (path.empty() || !std::filesystem::exists(path, error)) {
        return;
    }
    Diagnostics of_file;
    auto measured = load_machine(path, of_file);
    if (!measured) {
        found.warning({path, 0, 0}, "measurements of this machine are not used",
                      "its file is not a machine file", "Remove it, or run `ziggurat bench io` again.");
        return;
    }
    for (const auto& figure : machine_figures()) {
        figure.of(machine) = figure.of(*measured);
    }
    machine.node_link.sharers = measured->node_link.sharers;
    machine.network_link.sharers = measured->network_link.sharers;
    machine.nvme_block_bytes = measured->nvme_block_bytes;
    machine.nvme_queue_depth = measured->nvme_queue_depth;
}

std::string machine_text(const spec::MachineSpec& machine) {
    auto text =
        fmt::format("machine_version: {}\nname: {}\nhas_device: {}\nranks_per_node: {}\ncores_per_node: {}\n",
                    machine_version, write_text(machine.name), machine.has_device, machine.ranks_per_node,
                    machine.cores_per_node) +
        line("device_memory", write_bytes(machine.device_bytes), machine.has_device) +
        line("device_multiprocessors", std::to_string(machine.device_multiprocessors),
             machine.device_multiprocessors > 0) +
        line("device_compute_capability",
             fmt::format("{}.{}", machine.device_capability / 10, machine.device_capability % 10),
             machine.device_capability > 0) +
        fmt::format("host_memory: {}\n", write_bytes(machine.host_bytes)) +
        line("nvme_space", write_bytes(machine.nvme_bytes), machine.nvme_bytes != spec::unknown_space) +
        line("nvme_block", write_bytes(machine.nvme_block_bytes), machine.nvme_block_bytes > 0) +
        line("nvme_queue_depth", std::to_string(machine.nvme_queue_depth), machine.nvme_queue_depth > 0);
    return text + nested(figure_lines(machine));
}

}  // namespace ziggurat::deck
