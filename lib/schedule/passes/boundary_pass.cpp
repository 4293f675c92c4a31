#include "schedule/passes/boundary_pass.hpp"

#include <vector>

#include "schedule/residency/away_moves.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// Returns the home of the values of a micro-batch.
Tier home_of(const spec::Home& home, int microbatch, int microbatches) {
    const double share = (microbatch + 0.5) / microbatches;
    return share < home.nvme ? Tier::nvme : share < home.nvme + home.host ? Tier::host : Tier::device;
}

/// Returns, by buffer, the ops that name it, in their order.
std::vector<std::vector<OpId>> uses_of(const Program& program) {
    std::vector<std::vector<OpId>> uses(program.buffers.size());
    for (OpId i = 0; i < program.ops.end_id(); ++i) {
        for (const auto* operands : {&program.ops[i].reads, &program.ops[i].writes}) {
            for (const auto& operand : *operands) {
                auto& of_buffer = uses[operand.buffer];
                if (of_buffer.empty() || of_buffer.back() != i) {
                    of_buffer.push_back(i);
                }
            }
        }
    }
    return uses;
}

}  // namespace

void boundary_pass(ProgramBuilder& draft, const spec::RunSpec& spec) {
    auto& program = draft.program;
    const auto& home = spec.tiers.activations;
    if (!program.is_by_layer || home.device == 1) {
        return;
    }
    AwayMoves moves{program, spec.overlap.prefetch};
    const auto uses = uses_of(program);
    for (std::size_t b = 0; b < uses.size(); ++b) {
        const BufferId value{static_cast<int>(b)};
        const auto described = program.buffers[value];
        const bool may_wait = described.lifetime == Lifetime::transient && described.microbatch >= 0 &&
                              described.tier == Tier::device && described.state == StateKind::none &&
                              described.consumer == MemoryCategory::working_buffers;
        const auto tier = may_wait ? home_of(home, described.microbatch, program.microbatches) : Tier::device;
        if (tier == Tier::device) {
            continue;
        }
        BufferId now = value;
        for (std::size_t u = 1; u < uses[b].size(); ++u) {
            const auto last = uses[b][u - 1];
            const auto next = uses[b][u];
            const int gone = moves.leaves_at(last);
            if (gone > last && program.ops[last].unit != program.ops[next].unit &&
                moves.returns_at(next, tier) > gone) {
                const auto away = moves.send_away(now, tier, gone);
                now = moves.bring_back(value, away, next, gone);
            }
        }
    }
    moves.insert();
}

}  // namespace ziggurat::schedule
