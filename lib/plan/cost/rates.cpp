#include "plan/cost/rates.hpp"

#include <algorithm>

namespace ziggurat::plan {
namespace {

constexpr double usual_flops_of_thread = 40e9;
constexpr double usual_flops_of_device = 70e12;
constexpr double usual_disk = 2e9;
constexpr double usual_link = 10e9;
constexpr double usual_memory = 5e9;
constexpr double usual_memory_of_device = 500e9;
constexpr double usual_latency = 5e-6;
/// Share of the rate of products at which attention runs, if its rate is unknown.
constexpr double usual_attention = 0.5;

double known(double rate, double usual) {
    return rate > 0 ? rate : usual;
}

double at_most(double highest, double rate) {
    return highest > 0 ? std::min(rate, highest) : rate;
}

/// Returns the rates of products in the compute type. Half extents of an unknown rate count.
spec::ProductRates products_of(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    auto products =
        spec.precision.compute == spec::DType::bf16 ? machine.bf16_products : machine.fp32_products;
    const double usual =
        machine.has_device ? usual_flops_of_device : usual_flops_of_thread * spec.parallel.threads;
    auto& flops = products.forward.flops;
    flops = known(flops, known(machine.device_flops, usual));
    return products;
}

spec::LinkRate link_of_rank(const spec::LinkRate& link) {
    return {.bandwidth = known(link.of_rank(), usual_link), .latency = known(link.latency, usual_latency)};
}

}  // namespace

Rates rates_of(const spec::RunSpec& spec, const spec::MachineSpec& machine) {
    const auto& highest = spec.debug.throttle;
    const double ranks = std::max(spec.parallel.ranks_per_node, 1);
    const double read = known(machine.nvme_read_rate, usual_disk) / ranks;
    const double write = known(machine.nvme_write_rate, usual_disk) / ranks;
    const double in = known(machine.host_to_device_rate, usual_link);
    const double out = known(machine.device_to_host_rate, usual_link);
    const auto products = products_of(spec, machine);
    const double attention = usual_attention * products.forward.flops;
    return {
        .products = products,
        .attention = {known(machine.attention.forward_flops, attention),
                      known(machine.attention.backward_flops, attention)},
        .sweeps = machine.sweeps,
        .memory = known(machine.device_bandwidth, machine.has_device ? usual_memory_of_device : usual_memory),
        .updates = machine.update_rate / ranks,
        .host_memory = known(machine.host_bandwidth / ranks, usual_memory),
        .op_overhead = machine.op_overhead,
        .launch_time = machine.has_device ? machine.launch_time : 0,
        .nvme_read = at_most(highest.nvme_read, read),
        .nvme_write = at_most(highest.nvme_write, write),
        .host_to_device = at_most(highest.host_to_device, in),
        .device_to_host = at_most(highest.device_to_host, out),
        .control_to_device = in,
        .control_to_host = out,
        .node_link = link_of_rank(machine.node_link),
        .network_link = link_of_rank(machine.network_link),
        .tensor_axis = highest.tensor,
        .ranks_per_node = std::max(spec.parallel.ranks_per_node, 1),
        .layer_forward = highest.compute,
        .has_device = machine.has_device,
        .has_shared_disks = highest.nvme_read <= 0 && highest.nvme_write <= 0};
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

}  // namespace ziggurat::plan
