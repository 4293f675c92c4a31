#include "plan/rates.hpp"

#include <algorithm>
#include <cstdint>

#include "schedule/volumes/link_traffic.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;

constexpr double usual_flops_of_thread = 40e9;
constexpr double usual_flops_of_device = 70e12;
constexpr double usual_disk = 2e9;
constexpr double usual_link = 10e9;
constexpr double usual_memory = 5e9;
constexpr double usual_memory_of_device = 500e9;

double known(double rate, double usual) {
    return rate > 0 ? rate : usual;
}

double at_most(double highest, double rate) {
    return highest > 0 ? std::min(rate, highest) : rate;
}

double rate_of_copy(const Op& op, schedule::Link link, const Rates& rates) {
    const bool is_control = !schedule::moves_state(op);
    switch (link) {
        case schedule::Link::nvme_read:
            return rates.nvme_read;
        case schedule::Link::nvme_write:
            return rates.nvme_write;
        case schedule::Link::host_to_device:
            return is_control ? rates.control_to_device : rates.host_to_device;
        case schedule::Link::device_to_host:
            return is_control ? rates.control_to_host : rates.device_to_host;
    }
    return rates.memory;
}

}  // namespace

Rates rates_of(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto& highest = spec.debug.throttle;
    const double ranks = std::max(spec.parallel.ranks_per_node, 1);
    const double usual_flops =
        machine.has_device ? usual_flops_of_device : usual_flops_of_thread * spec.parallel.threads;
    const double read = known(machine.nvme_read_rate, usual_disk) / ranks;
    const double write = known(machine.nvme_write_rate, usual_disk) / ranks;
    const double in = known(machine.host_to_device_rate, usual_link);
    const double out = known(machine.device_to_host_rate, usual_link);
    const bool has_slow_ways = highest.nvme_read > 0 || highest.nvme_write > 0;
    return {.flops = known(machine.device_flops, usual_flops),
            .memory = machine.has_device ? usual_memory_of_device : usual_memory,
            .nvme_read = at_most(highest.nvme_read, read),
            .nvme_write = at_most(highest.nvme_write, write),
            .host_to_device = at_most(highest.host_to_device, in),
            .device_to_host = at_most(highest.device_to_host, out),
            .control_to_device = in,
            .control_to_host = out,
            .layer_forward = highest.compute,
            .has_device = machine.has_device,
            .has_shared_disks = !has_slow_ways};
}

spec::MachineSpec throttled(spec::MachineSpec machine, const spec::RunSpec& spec) {
    const auto& highest = spec.debug.throttle;
    const double ranks = std::max(spec.parallel.ranks_per_node, 1);
    const auto slow = [](double& rate, double highest_rate) {
        rate = at_most(highest_rate, known(rate, highest_rate));
    };
    slow(machine.nvme_read_rate, highest.nvme_read * ranks);
    slow(machine.nvme_write_rate, highest.nvme_write * ranks);
    slow(machine.host_to_device_rate, highest.host_to_device);
    slow(machine.device_to_host_rate, highest.device_to_host);
    return machine;
}

double op_seconds(const Op& op, const Program& program, const Rates& rates) {
    if (const auto link = schedule::link_of(op, program)) {
        return static_cast<double>(schedule::bytes_moved(op, program)) / rate_of_copy(op, *link, rates);
    }
    if (op.flops > 0) {
        return op.flops / rates.flops;
    }
    std::int64_t bytes = 0;
    for (const auto& operand : op.writes) {
        bytes += operand.bytes();
    }
    const bool reads_as_much = op.kind == OpKind::update || op.kind == OpKind::add;
    return static_cast<double>(reads_as_much ? 2 * bytes : bytes) / rates.memory;
}

}  // namespace ziggurat::plan
