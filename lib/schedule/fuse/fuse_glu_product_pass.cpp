#include "schedule/fuse/fuse_glu_product_pass.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "schedule/fuse/fuse_glu_pass.hpp"
#include "schedule/fuse/product_before.hpp"

namespace ziggurat::schedule {
namespace {

class GluProductFusion {
  public:
    GluProductFusion(ProgramBuilder& draft, const ModelLayout& model)
        : program_{draft.program}, model_{model} {}

    void apply() {
        std::vector<Op> merged;
        merged.reserve(program_.ops.size());
        for (auto& op : program_.ops) {
            const bool is_gradient = is_glu(op, model_) && op.direction == Direction::backward;
            if (!is_gradient || !merge(op, merged)) {
                merged.push_back(std::move(op));
            }
        }
        program_.ops = std::move(merged);
    }

  private:
    bool merge(const Op& gradient, std::vector<Op>& before) const {
        const auto* const d_output = program_.find_read(gradient, Role::d_output);
        const auto* const input = program_.find_read(gradient, Role::input);
        const auto* const d_input = program_.find_write(gradient, Role::d_input);
        auto* const product =
            product_before(program_, before, gradient, d_output->buffer, input->buffer, model_);
        if (product == nullptr || input->buffer == d_input->buffer) {
            return false;
        }
        product->reads.push_back({input->buffer, Role::activation_input, input->runs});
        *std::ranges::find(product->writes, Role::d_input, &Operand::role) = *d_input;
        if (const auto* const again = program_.find_write(gradient, Role::activated)) {
            product->writes.push_back(*again);
        }
        return true;
    }

    Program& program_;
    const ModelLayout& model_;
};

}  // namespace

void fuse_glu_product_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.tiers.device == spec::DeviceKind::cuda && spec.precision.compute == spec::DType::bf16 &&
        spec.precision.products != spec::ProductChoice::first) {
        GluProductFusion{draft, model}.apply();
    }
}

}  // namespace ziggurat::schedule
