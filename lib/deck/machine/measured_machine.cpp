#include "deck/machine/measured_machine.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "deck/machine/machine.hpp"
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
    const auto measured = load_machine(path, of_file);
    if (!measured) {
        found.warning({path, 0, 0}, "measurements of this machine are not used",
                      "its file is not a machine file", "Remove it, or run `ziggurat bench io` again.");
        return;
    }
    machine.nvme_read_rate = measured->nvme_read_rate;
    machine.nvme_write_rate = measured->nvme_write_rate;
    machine.nvme_block_bytes = measured->nvme_block_bytes;
    machine.nvme_queue_depth = measured->nvme_queue_depth;
    machine.host_to_device_rate = measured->host_to_device_rate;
    machine.device_to_host_rate = measured->device_to_host_rate;
    machine.device_flops = measured->device_flops;
    machine.seconds_to_failure = measured->seconds_to_failure;
    machine.restart_seconds = measured->restart_seconds;
    machine.checkpoint_rate = measured->checkpoint_rate;
    machine.price_per_hour = measured->price_per_hour;
}

std::string machine_text(const spec::MachineSpec& machine) {
    return fmt::format(
               "machine_version: {}\nname: {}\nhas_device: {}\nranks_per_node: {}\ncores_per_node: {}\n",
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
           line("nvme_read_rate", write_rate(machine.nvme_read_rate), machine.nvme_read_rate > 0) +
           line("nvme_write_rate", write_rate(machine.nvme_write_rate), machine.nvme_write_rate > 0) +
           line("nvme_block", write_bytes(machine.nvme_block_bytes), machine.nvme_block_bytes > 0) +
           line("nvme_queue_depth", std::to_string(machine.nvme_queue_depth), machine.nvme_queue_depth > 0) +
           line("host_to_device_rate", write_rate(machine.host_to_device_rate),
                machine.host_to_device_rate > 0) +
           line("device_to_host_rate", write_rate(machine.device_to_host_rate),
                machine.device_to_host_rate > 0) +
           line("device_flops", fmt::format("{}", std::llround(machine.device_flops)),
                machine.device_flops > 0) +
           line("checkpoint_rate", write_rate(machine.checkpoint_rate), machine.checkpoint_rate > 0) +
           line("mean_time_to_failure", write_duration(machine.seconds_to_failure),
                machine.seconds_to_failure > 0) +
           line("restart_time", write_duration(machine.restart_seconds),
                machine.restart_seconds != spec::MachineSpec{}.restart_seconds) +
           line("price_per_hour", write_real(machine.price_per_hour), machine.price_per_hour > 0);
}

}  // namespace ziggurat::deck
