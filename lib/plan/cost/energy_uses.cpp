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

void add_collective(const Op& op, const schedule::Program& program, int ranks_per_node, EnergyUses& uses) {
    const auto& group = program.groups.at(op.group);
    const auto bytes = static_cast<double>(vector_bytes(op));
    if (schedule::is_message(op.kind)) {
        const auto node_of = [&](int rank) { return rank / ranks_per_node; };
        const bool is_within_node = node_of(group.members.at(op.peer)) == node_of(program.rank);
        uses[is_within_node ? EnergyUse::node_byte : EnergyUse::network_byte] +=
            op.kind == OpKind::send ? bytes : 0;
        return;
    }
    const auto shape = group_shape(group, ranks_per_node);
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
    std::vector<EnergyUses> made(program.ops.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
        const auto& op = program.ops[i];
        if (op.predicate) {
            continue;  // most steps do not run it
        }
        if (schedule::class_of(op.kind) == schedule::OpClass::collective) {
            add_collective(op, program, ranks_per_node, made[i]);
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
