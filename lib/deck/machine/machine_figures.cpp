#include "deck/machine/machine_figures.hpp"

namespace ziggurat::deck {
namespace {

using Form = FigureForm;
using spec::EnergyUse;
using spec::MachineSpec;
using spec::SweepKind;

// clang-format off
constexpr MachineFigure figures[] = {
    {"nvme_read_rate", Form::rate, [](MachineSpec& m) -> double& { return m.nvme_read_rate; }},
    {"nvme_write_rate", Form::rate, [](MachineSpec& m) -> double& { return m.nvme_write_rate; }},
    {"host_to_device_rate", Form::rate, [](MachineSpec& m) -> double& { return m.host_to_device_rate; }},
    {"device_to_host_rate", Form::rate, [](MachineSpec& m) -> double& { return m.device_to_host_rate; }},
    {"device_flops", Form::whole, [](MachineSpec& m) -> double& { return m.device_flops; }},
    {"peak_flops", Form::whole, [](MachineSpec& m) -> double& { return m.peak_flops; }},
    {"products.bf16.flops", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.forward.flops; }},
    {"products.bf16.half_m", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.forward.half_m; }},
    {"products.bf16.half_n", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.forward.half_n; }},
    {"products.bf16.half_k", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.forward.half_k; }},
    {"products.bf16.call", Form::duration, [](MachineSpec& m) -> double& { return m.bf16_products.forward.call; }},
    {"products.bf16.backward_input.flops", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_input.flops; }},
    {"products.bf16.backward_input.half_m", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_input.half_m; }},
    {"products.bf16.backward_input.half_n", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_input.half_n; }},
    {"products.bf16.backward_input.half_k", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_input.half_k; }},
    {"products.bf16.backward_input.call", Form::duration, [](MachineSpec& m) -> double& { return m.bf16_products.backward_input.call; }},
    {"products.bf16.backward_weight.flops", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_weight.flops; }},
    {"products.bf16.backward_weight.half_m", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_weight.half_m; }},
    {"products.bf16.backward_weight.half_n", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_weight.half_n; }},
    {"products.bf16.backward_weight.half_k", Form::whole, [](MachineSpec& m) -> double& { return m.bf16_products.backward_weight.half_k; }},
    {"products.bf16.backward_weight.call", Form::duration, [](MachineSpec& m) -> double& { return m.bf16_products.backward_weight.call; }},
    {"products.fp32.flops", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.forward.flops; }},
    {"products.fp32.half_m", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.forward.half_m; }},
    {"products.fp32.half_n", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.forward.half_n; }},
    {"products.fp32.half_k", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.forward.half_k; }},
    {"products.fp32.call", Form::duration, [](MachineSpec& m) -> double& { return m.fp32_products.forward.call; }},
    {"products.fp32.backward_input.flops", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_input.flops; }},
    {"products.fp32.backward_input.half_m", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_input.half_m; }},
    {"products.fp32.backward_input.half_n", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_input.half_n; }},
    {"products.fp32.backward_input.half_k", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_input.half_k; }},
    {"products.fp32.backward_input.call", Form::duration, [](MachineSpec& m) -> double& { return m.fp32_products.backward_input.call; }},
    {"products.fp32.backward_weight.flops", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_weight.flops; }},
    {"products.fp32.backward_weight.half_m", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_weight.half_m; }},
    {"products.fp32.backward_weight.half_n", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_weight.half_n; }},
    {"products.fp32.backward_weight.half_k", Form::whole, [](MachineSpec& m) -> double& { return m.fp32_products.backward_weight.half_k; }},
    {"products.fp32.backward_weight.call", Form::duration, [](MachineSpec& m) -> double& { return m.fp32_products.backward_weight.call; }},
    {"attention.forward_flops", Form::whole, [](MachineSpec& m) -> double& { return m.attention.forward_flops; }},
    {"attention.backward_flops", Form::whole, [](MachineSpec& m) -> double& { return m.attention.backward_flops; }},
    {"device_bandwidth", Form::rate, [](MachineSpec& m) -> double& { return m.device_bandwidth; }},
    {"sweeps.norm.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::norm].forward; }},
    {"sweeps.norm.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::norm].backward; }},
    {"sweeps.activation.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::activation].forward; }},
    {"sweeps.activation.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::activation].backward; }},
    {"sweeps.rotation.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::rotation].forward; }},
    {"sweeps.rotation.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::rotation].backward; }},
    {"sweeps.residual.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::residual].forward; }},
    {"sweeps.residual.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::residual].backward; }},
    {"sweeps.embedding.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::embedding].forward; }},
    {"sweeps.embedding.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::embedding].backward; }},
    {"sweeps.loss.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::loss].forward; }},
    {"sweeps.loss.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::loss].backward; }},
    {"sweeps.sum.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::sum].forward; }},
    {"sweeps.sum.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::sum].backward; }},
    {"sweeps.squares.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::squares].forward; }},
    {"sweeps.squares.backward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::squares].backward; }},
    {"sweeps.packing.forward", Form::rate, [](MachineSpec& m) -> double& { return m.sweeps[SweepKind::packing].forward; }},
    {"host_bandwidth", Form::rate, [](MachineSpec& m) -> double& { return m.host_bandwidth; }},
    {"update_rate", Form::whole, [](MachineSpec& m) -> double& { return m.update_rate; }},
    {"op_overhead", Form::duration, [](MachineSpec& m) -> double& { return m.op_overhead; }},
    {"launch_time", Form::duration, [](MachineSpec& m) -> double& { return m.launch_time; }},
    {"node_link.bandwidth", Form::rate, [](MachineSpec& m) -> double& { return m.node_link.bandwidth; }},
    {"node_link.latency", Form::duration, [](MachineSpec& m) -> double& { return m.node_link.latency; }},
    {"network_link.bandwidth", Form::rate, [](MachineSpec& m) -> double& { return m.network_link.bandwidth; }},
    {"network_link.latency", Form::duration, [](MachineSpec& m) -> double& { return m.network_link.latency; }},
    {"checkpoint_rate", Form::rate, [](MachineSpec& m) -> double& { return m.checkpoint_rate; }},
    {"mean_time_to_failure", Form::duration, [](MachineSpec& m) -> double& { return m.seconds_to_failure; }},
    {"restart_time", Form::duration, [](MachineSpec& m) -> double& { return m.restart_seconds; }},
    {"price_per_hour", Form::real, [](MachineSpec& m) -> double& { return m.price_per_hour; }},
    {"power", Form::real, [](MachineSpec& m) -> double& { return m.power; }},
    {"idle_power", Form::real, [](MachineSpec& m) -> double& { return m.idle_power; }},
    {"energy.bf16_flop", Form::real, [](MachineSpec& m) -> double& { return m.energy.joules[EnergyUse::bf16_flop]; }},
    {"energy.fp32_flop", Form::real, [](MachineSpec& m) -> double& { return m.energy.joules[EnergyUse::fp32_flop]; }},
    {"energy.device_byte", Form::real, [](MachineSpec& m) -> double& { return m.energy.joules[EnergyUse::device_byte]; }},
    {"energy.node_byte", Form::real, [](MachineSpec& m) -> double& { return m.energy.joules[EnergyUse::node_byte]; }},
    {"energy.network_byte", Form::real, [](MachineSpec& m) -> double& { return m.energy.joules[EnergyUse::network_byte]; }},
};
// clang-format on

}  // namespace

std::span<const MachineFigure> machine_figures() {
    return figures;
}

}  // namespace ziggurat::deck
