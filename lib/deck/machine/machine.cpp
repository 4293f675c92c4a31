#include "deck/machine/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "deck/compose/compose.hpp"
#include "deck/files/shipped_files.hpp"
#include "deck/machine/machine_figures.hpp"
#include "deck/messages/nearest.hpp"
#include "deck/values/reader.hpp"

namespace ziggurat::deck {
namespace {

constexpr const char* folder_of_machines = "decks/machines/";

bool is_name(const std::string& name_or_file) {
    return name_or_file.find_first_of("/.") == std::string::npos;
}

/// Returns true if all keys without a default are set.
bool is_complete(const Values& values, Diagnostics& found) {
    bool complete = true;
    for (const Row& row : machine_schema().rows()) {
        const bool is_needed =
            has_value(row.type) && row.fallback == nullptr &&
            (std::string_view{row.path} != "device_memory" || values.boolean("has_device"));
        if (is_needed && !values.has(row.path) && !values.is_bad(row.path)) {
            found.error(values.location(row.path), fmt::format("missing key '{}'", row.path), row.doc,
                        "Add it.");
            complete = false;
        }
    }
    return complete;
}

/// Adds errors for figures that contradict each other.
void expect_possible(const spec::MachineSpec& machine, const Values& values, Diagnostics& found) {
    for (const auto& figure : machine_figures()) {
        auto copy = machine;
        const double flops = figure.of(copy);
        const std::string_view key = figure.key;
        if (machine.peak_flops > 0 && key != "peak_flops" && key.ends_with("flops") &&
            flops > machine.peak_flops) {
            found.error(values.location(figure.key),
                        fmt::format("{} = {} is above peak_flops = {}", figure.key, write_real(flops),
                                    write_real(machine.peak_flops)),
                        "no product is faster than the peak of the data sheet, to which utilisation refers",
                        "Correct one of them; peak_flops is that of dense products in bfloat16.");
        }
    }
    if (machine.power > 0 && machine.idle_power > machine.power) {
        found.error(values.location("idle_power"), "idle_power is above power",
                    "a node that waits uses less than one that trains", "Correct one of them.");
    }
}

}  // namespace

std::optional<spec::MachineSpec> load_machine(const std::string& path, Diagnostics& found) {
    const std::size_t errors_before = found.errors();
    const auto text = read_file(path, "machine file", {path, 0, 0}, found);
    if (!text) {
        return std::nullopt;
    }
    found.remember(path, *text);
    const auto root = parse_document(*text, {path}, found);
    if (!root) {
        return std::nullopt;
    }
    const Values values = read_values(machine_schema(), *root, found);
    if (!is_complete(values, found) || found.errors() > errors_before) {
        return std::nullopt;
    }
    spec::MachineSpec machine{
        .name = values.text("name"),
        .has_device = values.boolean("has_device"),
        .ranks_per_node = static_cast<int>(values.integer("ranks_per_node")),
        .cores_per_node = static_cast<int>(values.integer("cores_per_node")),
        .threads_per_rank = static_cast<int>(values.integer("threads_per_rank")),
        .device_bytes = values.integer("device_memory"),
        .device_multiprocessors = static_cast<int>(values.integer("device_multiprocessors")),
        .device_capability = static_cast<int>(std::lround(10 * values.real("device_compute_capability"))),
        .host_bytes = values.integer("host_memory"),
        .nvme_bytes = values.integer("nvme_space"),
        .nvme_block_bytes = values.integer("nvme_block"),
        .nvme_queue_depth = static_cast<int>(values.integer("nvme_queue_depth")),
    };
    for (const auto& figure : machine_figures()) {
        figure.of(machine) = figure.form == FigureForm::whole
                                 ? static_cast<double>(values.integer(figure.key))
                                 : values.real(figure.key);
    }
    for (const auto& [link, key] : {std::pair{&machine.node_link, "node_link.sharers"},
                                    std::pair{&machine.network_link, "network_link.sharers"}}) {
        link->sharers = static_cast<int>(values.integer(key));
    }
    expect_possible(machine, values, found);
    return found.errors() > errors_before ? std::nullopt : std::optional{machine};
}

std::string machine_file(const std::string& name_or_file) {
    return is_name(name_or_file) ? file_or_shipped(folder_of_machines + name_or_file + ".yaml")
                                 : name_or_file;
}

std::vector<std::string> machine_names(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code unreadable;
    for (std::filesystem::directory_iterator entry{folder, unreadable}, end; !unreadable && entry != end;
         entry.increment(unreadable)) {
        if (entry->path().extension() == ".yaml") {
            names.push_back(entry->path().stem().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::optional<spec::MachineSpec> load_called_machine(const std::string& name_or_file, Diagnostics& found) {
    const std::string path = machine_file(name_or_file);
    std::error_code unreadable;
    if (!is_name(name_or_file) || std::filesystem::exists(path, unreadable)) {
        return load_machine(path, found);
    }
    const std::string folder = file_or_shipped(folder_of_machines);
    const auto names = machine_names(folder);
    const std::string meant = nearest(name_or_file, {names.begin(), names.end()});
    found.error({"--machine", 0, 0}, fmt::format("there is no machine {}", in_quotes(name_or_file)),
                names.empty() ? fmt::format("{} has no machine files", in_quotes(folder))
                              : fmt::format("there are {}", fmt::join(names, ", ")),
                (meant.empty() ? "" : fmt::format("Did you mean '{}'? ", meant)) +
                    "Name your own file by its path, such as ./mine.yaml.");
    return std::nullopt;
}

}  // namespace ziggurat::deck
