#include "schedule/fuse/fuse_residual_pass.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace ziggurat::schedule {
namespace {

using layout::PhaseKind;

class ResidualFusion {
  public:
    ResidualFusion(ProgramBuilder& draft, const ModelLayout& model)
        : program_{draft.program}, model_{model}, num_uses_(draft.program.buffers.size(), 0) {
        for (const auto& op : program_.ops) {
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    ++num_uses_[operand.buffer];
                }
            }
        }
    }

    void apply() {
        std::vector<Op> fused;
        fused.reserve(program_.ops.size());
        for (auto& op : program_.ops) {
            if (!is_fusable_sum(op) || fused.empty() || !writes_branch_of(fused.back(), op)) {
                fused.push_back(std::move(op));
            } else if (phase_of(op).kind == PhaseKind::residual) {
                add_to_product(fused.back(), op, Role::output);
            } else {
                add_to_product(fused.back(), op, Role::sum);
                make_norm(op);
                fused.push_back(std::move(op));
            }
        }
        program_.ops = std::move(fused);
    }

  private:
    const layout::Phase& phase_of(const Op& op) const { return model_.table.units[op.unit].phases[op.phase]; }

    bool is_fusable_sum(const Op& op) const {
        if (op.kind != OpKind::compute || op.phase < 0 || op.direction != Direction::forward) {
            return false;
        }
        const auto& phase = phase_of(op);
        const bool is_sum = phase.kind == PhaseKind::residual || phase.kind == PhaseKind::residual_norm;
        return is_sum && !phase.has_dropout && phase.branch_factor == 1 && op.column_end == 0;
    }

    /// True if `op` is a whole product without an addend, and only the sum reads its output, as the branch.
    bool writes_branch_of(const Op& op, const Op& sum) const {
        const bool is_product = op.kind == OpKind::compute && op.phase >= 0 && op.unit == sum.unit &&
                                op.microbatch == sum.microbatch && op.segment == sum.segment &&
                                op.direction == sum.direction && op.column_end == 0 &&
                                op.row_end == sum.row_end;
        if (!is_product) {
            return false;
        }
        const auto& phase = phase_of(op);
        const auto* const branch = program_.find_read(sum, Role::branch);
        const auto* const made = program_.find_write(op, Role::output);
        return phase.kind == PhaseKind::linear && phase.adapters.empty() && !phase.is_of_grid &&
               program_.find_read(op, Role::addend) == nullptr && made != nullptr &&
               made->buffer == branch->buffer && num_uses_[branch->buffer] == 2;
    }

    /// \param role  that of the result of `sum`
    void add_to_product(Op& product, const Op& sum, Role role) const {
        const auto* const stream = program_.find_read(sum, Role::input);
        const auto* const result = program_.find_write(sum, role);
        product.reads.push_back({stream->buffer, Role::addend, stream->runs});
        const auto output = std::ranges::find(product.writes, Role::output, &Operand::role);
        *output = {result->buffer, Role::output, result->runs};
    }

    /// Makes the norm after a residual sum read the result of the sum.
    static void make_norm(Op& op) {
        const auto sum = std::ranges::find(op.writes, Role::sum, &Operand::role);
        const auto input = std::ranges::find(op.reads, Role::input, &Operand::role);
        *input = {sum->buffer, Role::input, sum->runs};
        op.writes.erase(sum);
        std::erase_if(op.reads, [](const Operand& operand) { return operand.role == Role::branch; });
    }

    Program& program_;
    const ModelLayout& model_;
    std::vector<int> num_uses_;  ///< by buffer
};

}  // namespace

void fuse_residual_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.tiers.device == spec::DeviceKind::cuda && spec.precision.compute == spec::DType::bf16) {
        ResidualFusion{draft, model}.apply();
    }
}

}  // namespace ziggurat::schedule
