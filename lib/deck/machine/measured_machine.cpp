#include "deck/machine/measured_machine.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
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

/// Key of a figure, such as `products.bf16.flops`, and its value as text.
struct WrittenFigure {
    std::string key, value;
};

/// Returns the figures of `machine` that are known, in the order in which they are written.
std::vector<WrittenFigure> known_figures(const spec::MachineSpec& machine) {
    std::vector<WrittenFigure> written;
    auto known = machine;
    spec::MachineSpec unknown;
    for (const auto& figure : machine_figures()) {
        const double value = figure.of(known);
        if (value != figure.of(unknown)) {
            written.push_back({figure.key, write_figure(figure.form, value)});
        }
    }
    for (const auto& [key, sharers] : {std::pair{"node_link.sharers", machine.node_link.sharers},
                                       std::pair{"network_link.sharers", machine.network_link.sharers}}) {
        if (sharers > 1) {
            written.push_back({key, std::to_string(sharers)});
        }
    }
    return written;
}

/// Returns YAML maps of the figures. A map is written where its first figure is.
std::string nested(std::vector<WrittenFigure> figures, std::size_t indent) {
    constexpr std::size_t step = 2;
    std::string text;
    while (!figures.empty()) {
        const auto& [key, value] = figures.front();
        const auto dot = key.find('.');
        if (dot == std::string::npos) {
            text += fmt::format("{:{}}{}: {}\n", "", indent, key, value);
            figures.erase(figures.begin());
            continue;
        }
        const auto map = key.substr(0, dot + 1);
        text += fmt::format("{:{}}{}:\n", "", indent, map.substr(0, dot));
        std::vector<WrittenFigure> of_map;
        for (const auto& figure : figures) {
            if (figure.key.starts_with(map)) {
                of_map.push_back({figure.key.substr(map.size()), figure.value});
            }
        }
        text += nested(std::move(of_map), indent + step);
        std::erase_if(figures, [&](const auto& figure) { return figure.key.starts_with(map); });
    }
    return text;
}

/// Describes GPUs; empty if they are not known.
std::string gpus_of(const spec::MachineSpec& machine) {
    return machine.has_device && machine.device_capability > 0 && machine.device_multiprocessors > 0
               ? fmt::format("GPUs of compute capability {}.{} with {} multiprocessors",
                             machine.device_capability / 10, machine.device_capability % 10,
                             machine.device_multiprocessors)
               : "";
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
                      "not a machine file: " + of_file.sorted().front().problem,
                      "Remove it, or run `ziggurat bench all` again.");
        return;
    }
    const auto before = gpus_of(*measured);
    if (const auto now = gpus_of(machine); !before.empty() && !now.empty() && before != now) {
        found.warning({path, 0, 0}, "measurements of this machine are not used",
                      fmt::format("they are of {}, and this machine has {}", before, now),
                      "Remove it, or run `ziggurat bench all` again.");
        return;
    }
    for (const auto& figure : machine_figures()) {
        figure.of(machine) = figure.of(*measured);
    }
    machine.measured_ranks = measured->ranks_per_node;
    machine.threads_per_rank = measured->threads_per_rank;
    machine.node_link.sharers = measured->node_link.sharers;
    machine.network_link.sharers = measured->network_link.sharers;
    machine.nvme_block_bytes = measured->nvme_block_bytes;
    machine.nvme_queue_depth = measured->nvme_queue_depth;
}

std::string machine_text(const spec::MachineSpec& machine) {
    const auto text =
        fmt::format("machine_version: {}\nname: {}\nhas_device: {}\nranks_per_node: {}\ncores_per_node: {}\n",
                    machine_version, write_text(machine.name), machine.has_device, machine.ranks_per_node,
                    machine.cores_per_node) +
        line("threads_per_rank", std::to_string(machine.threads_per_rank), machine.threads_per_rank > 0) +
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
    return text + nested(known_figures(machine), 0);
}

}  // namespace ziggurat::deck
