#include "schedule/residency/updates_in_backward.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::schedule {

LastUses::LastUses(const Program& program) {
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        const auto& op = program.ops[i];
        if (op.kind == OpKind::norm) {
            continue;  // reads gradients, which an update does not change
        }
        if (op.kind == OpKind::unit_clip) {
            last_[op.unit] = i;
        }
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                const auto& used = program.buffers[operand.buffer];
                if (used.state == StateKind::parameters || used.state == StateKind::gradients) {
                    last_[used.unit] = i;
                }
            }
        }
    }
}

UpdateHomes::UpdateHomes(const ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
    : state_{draft.state}, homes_{home_parts(draft.program, spec, model)} {}

std::set<spec::Tier> UpdateHomes::tiers_of(const layout::UnitRange& run) const {
    std::set<spec::Tier> tiers;
    for (const auto& part : homes_[state_.units[run.unit][StateKind::first_moment]]) {
        if (part.range.begin < run.range.end && run.range.begin < part.range.end) {
            tiers.insert(part.tier);
        }
    }
    return tiers;
}

bool UpdateHomes::is_on_host(const std::vector<layout::UnitRange>& runs) const {
    return std::ranges::any_of(runs, [&](const layout::UnitRange& run) {
        const auto tiers = tiers_of(run);
        return tiers.contains(spec::Tier::host) || tiers.contains(spec::Tier::nvme);
    });
}

bool UpdateHomes::is_on_nvme(const std::vector<layout::UnitRange>& runs) const {
    return std::ranges::all_of(
        runs, [&](const layout::UnitRange& run) { return tiers_of(run) == std::set{spec::Tier::nvme}; });
}

void list_in_backward(Program& program, Op first, std::vector<ListedOps> listed) {
    std::ranges::stable_sort(listed, {}, &ListedOps::after);
    std::vector<Op> ops;
    ops.push_back(std::move(first));
    auto next = listed.begin();
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        ops.push_back(std::move(program.ops[i]));
        for (; next != listed.end() && next->after == i; ++next) {
            std::ranges::move(next->ops, std::back_inserter(ops));
        }
    }
    ZG_ENSURES(next == listed.end());
    program.ops = std::move(ops);
}

std::vector<std::vector<layout::UnitRange>> ranges_of_updates(std::vector<layout::UnitRange> chunk,
                                                              bool is_by_unit) {
    if (!is_by_unit) {
        return {std::move(chunk)};
    }
    std::vector<std::vector<layout::UnitRange>> by_unit;
    for (auto& range : chunk) {
        by_unit.push_back({std::move(range)});
    }
    return by_unit;
}

}  // namespace ziggurat::schedule
