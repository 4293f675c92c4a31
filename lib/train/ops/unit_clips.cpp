#include "train/ops/unit_clips.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "optim/adamw_inputs.hpp"

namespace ziggurat::train {

UnitClips::UnitClips(const comm::Context& world,
                     comm::NodeMemory& node,
                     const schedule::Program& program,
                     const spec::Optimizer& optimizer)
    : optimizer_{optimizer} {
    // Sorting by members gives the same order on all ranks, so no two members wait for different groups.
    std::set<std::pair<std::vector<int>, int>> groups;
    for (const auto& op : program.ops) {
        if (op.kind == schedule::OpKind::unit_clip && op.group >= 0) {
            groups.emplace(program.groups[op.group].members, op.group);
        }
    }
    for (const auto& [members, group] : groups) {
        const auto subset = world.group().subset(members);
        sums_.try_emplace(group, subset, ExactSum::num_limbs, &node);
    }
}

Action UnitClips::bind(const schedule::Program& program, const schedule::Op& op, state::TierMemory& memory) {
    using schedule::Role;
    auto& unit = units_.emplace_back();
    for (const auto& read : op.reads) {
        if (read.role == Role::exact_sums) {
            unit.squares.push_back(memory.span<ExactSum>(program.buffer(read.buffer)).data());
        }
    }
    const auto* inputs = program.find_read(op, Role::update_inputs);
    const auto* of_updates = program.find_write(op, Role::update_inputs);
    ZG_EXPECTS(inputs != nullptr && of_updates != nullptr);
    unit.inputs = memory.span<kernels::StepInputs>(program.buffer(inputs->buffer)).data();
    unit.of_updates = memory.span<kernels::StepInputs>(program.buffer(of_updates->buffer)).data();
    auto* const sum = op.group < 0 ? nullptr : &sums_.at(op.group);
    return {.start =
                [&unit, sum] {
                    if (sum != nullptr) {
                        std::ranges::copy(unit.sum().limbs(), sum->words().begin());
                        sum->start();
                    }
                },
            .poll =
                [this, &unit, sum] {
                    if (sum != nullptr && !sum->poll()) {
                        return false;
                    }
                    ExactSum::Limbs limbs = unit.sum().limbs();
                    if (sum != nullptr) {
                        std::ranges::copy(sum->words(), limbs.begin());
                    }
                    finish(unit, ExactSum{limbs});
                    return true;
                }};
}

ExactSum UnitClips::Unit::sum() const {
    ExactSum all;
    for (const auto* of_tier : squares) {
        all.merge(*of_tier);
    }
    return all;
}

void UnitClips::finish(const Unit& unit, const ExactSum& squares) const {
    *unit.of_updates = *unit.inputs;
    if (squares.is_finite()) {
        unit.of_updates->gradient_scale = optim::clip_factor(optimizer_, std::sqrt(squares.value()));
    } else {
        unit.of_updates->skip = 1;
    }
}

}  // namespace ziggurat::train
