#include "plan/cost/energy_uses.hpp"

#include <cstddef>

#include "plan/cost/collective_cost.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Op;
using schedule::OpKind;
using spec::EnergyUse;

double device_bytes(const Op& op, const schedule::Program& program) {
    double bytes = 0;
    for (const auto* operands : {&op.reads, &op.writes}) {
        for (const auto& operand : *operands) {
            const bool is_on_device = program.buffer(operand.buffer).tier == spec::Tier::device;
            bytes += is_on_device ? static_cast<double>(operand.bytes()) : 0;
        }
    }
    return bytes;
}

/// Adds the bytes of a message to the link between its ranks.
void add_message(const Op& op, const schedule::Program& program, int ranks_per_node, EnergyUses& uses) {
    const auto node_of = [&](int rank) { return rank / ranks_per_node; };
    const int peer = program.groups.at(op.group).members.at(op.peer);
    const bool is_within_node = node_of(peer) == node_of(program.rank);
    uses[is_within_node ? EnergyUse::node_byte : EnergyUse::network_byte] +=
        op.kind == OpKind::send ? static_cast<double>(vector_bytes(op)) : 0;
}

void add_collective(const Op& op, const GroupShape& shape, EnergyUses& uses) {
    const auto bytes = static_cast<double>(vector_bytes(op));
    const double passes = op.kind == OpKind::all_reduce ? 2 : 1;
    const auto sent = [&](double members) { return passes * bytes * (members - 1) / members; };
    uses[EnergyUse::node_byte] += shape.nodes == 1 || shape.min_on_node > 1 ? sent(shape.members) : 0;
    uses[EnergyUse::network_byte] += shape.nodes == 1 ? 0 : sent(shape.nodes) / shape.min_on_node;
}

}  // namespace

std::vector<EnergyUses> energy_uses(const schedule::Program& program,
                                    const spec::RunSpec& spec,
                                    int ranks_per_node) {
    const auto flop =
        spec.precision.compute == spec::DType::f32 ? EnergyUse::fp32_flop : EnergyUse::bf16_flop;
    const auto shapes = group_shapes(program, ranks_per_node);
    std::vector<EnergyUses> made(program.ops.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        if (op.predicate) {
            continue;  // most steps do not run it
        }
        if (schedule::is_message(op.kind)) {
            add_message(op, program, ranks_per_node, made[i]);
            continue;
        }
        if (schedule::class_of(op.kind) == schedule::OpClass::collective) {
            add_collective(op, shapes.at(op.group), made[i]);
            continue;
        }
        made[i][flop] = op.flops;
        made[i][EnergyUse::device_byte] = device_bytes(op, program);
    }
    return made;
}

double joules_of(const EnergyUses& uses, const spec::EnergyRates& rates) {
    double joules = 0;
    for (std::size_t use = 0; use < uses.size(); ++use) {
        joules += uses[use] * rates.joules[use];
    }
    return joules;
}

}  // namespace ziggurat::plan
