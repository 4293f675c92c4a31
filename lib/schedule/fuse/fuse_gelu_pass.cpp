#include "schedule/fuse/fuse_gelu_pass.hpp"

#include <utility>
#include <vector>

#include "schedule/fuse/product_before.hpp"
#include "spec/fates.hpp"

namespace ziggurat::schedule {
namespace {

using layout::PhaseKind;

class Fusion {
  public:
    Fusion(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : program_{draft.program}, model_{model}, merges_outputs_{!may_separate(spec.recompute)} {}

    void apply() {
        std::vector<Op> merged;
        merged.reserve(program_.ops.size());
        for (auto& op : program_.ops) {
            if (!is_gelu(op) || !merge(op, merged)) {
                merged.push_back(std::move(op));
            }
        }
        program_.ops = std::move(merged);
    }

  private:
    /// True if recomputation may repeat a product or its GELU alone.
    static bool may_separate(const spec::Recompute& recompute) {
        return recompute.kind == spec::RecomputeKind::selective ||
               spec::has_fate(recompute.fates, spec::ActivationFate::recompute) ||
               (recompute.kind == spec::RecomputeKind::full && !recompute.fates.empty());
    }

    const layout::Phase& phase_of(const Op& op) const {
        const auto& unit = model_.table.units[op.unit];
        return unit.phases[op.phase];
    }

    bool is_gelu(const Op& op) const {
        return op.kind == OpKind::compute && op.phase >= 0 && phase_of(op).kind == PhaseKind::gelu;
    }

    bool merge(const Op& gelu, std::vector<Op>& before) const {
        return gelu.direction == Direction::backward ? merge_gradient(gelu, before)
                                                     : merge_output(gelu, before);
    }

    bool merge_output(const Op& gelu, std::vector<Op>& before) const {
        const auto* const input = program_.find_read(gelu, Role::input);
        const auto* const output = program_.find_write(gelu, Role::output);
        if (!merges_outputs_ || before.empty() || !is_product_beside(before.back(), gelu, model_) ||
            before.back().direction != gelu.direction) {
            return false;
        }
        auto& product = before.back();
        const auto* const made = program_.find_write(product, Role::output);
        if (made == nullptr || made->buffer != input->buffer) {
            return false;
        }
        product.writes.push_back({output->buffer, Role::activated, output->runs});
        return true;
    }

    bool merge_gradient(const Op& gelu, std::vector<Op>& before) const {
        const auto* const gradient = program_.find_write(gelu, Role::d_input);
        const auto* const input = program_.find_read(gelu, Role::input);
        auto* const product = product_before(program_, before, gelu, gradient->buffer, input->buffer, model_);
        if (product == nullptr) {
            return false;
        }
        product->reads.push_back({input->buffer, Role::activation_input, input->runs});
        return true;
    }

    Program& program_;
    const ModelLayout& model_;
    bool merges_outputs_;
};

}  // namespace

void fuse_gelu_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.tiers.device == spec::DeviceKind::cuda && spec.precision.compute == spec::DType::bf16) {
        Fusion{draft, spec, model}.apply();
    }
}

}  // namespace ziggurat::schedule
