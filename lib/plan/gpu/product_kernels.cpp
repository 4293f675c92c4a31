#include "plan/gpu/product_kernels.hpp"

#include <algorithm>
#include <utility>

#include "layout/cuda_workspaces.hpp"
#include "layout/families/adapters.hpp"

namespace ziggurat::plan {
namespace {

using schedule::Direction;
using schedule::Role;

constexpr KernelUse product{"product"};

/// Adds the two kernels that sum the columns of `bytes`: over blocks of rows, then over the blocks.
void add_column_sum(std::vector<KernelUse>& kernels, const OpOperands& use, std::int64_t bytes) {
    kernels.push_back({"column_sum", 1, bytes});
    kernels.push_back({"sums of columns", 1, use.stored_or_added(Role::d_bias)});
}

/// Adds the kernel of a GELU that is merged with a product, if the library does not fuse them
/// (kernels/linear.cpp).
void add_gelu(std::vector<KernelUse>& kernels, const OpOperands& use, const layout::Phase& phase) {
    if (use.writes(Role::activated) &&
        !(use.reads(Role::bias) && layout::CudaWorkspaces::fuses_gelu(phase.out))) {
        kernels.push_back({"gelu_forward", 1, use.written(Role::output) + use.written(Role::activated)});
    }
    if (use.reads(Role::activation_input) && !layout::CudaWorkspaces::fuses_gelu(phase.in)) {
        kernels.push_back(
            {"gelu_backward", 1, use.read(Role::activation_input) + 2 * use.written(Role::d_input)});
    }
}

/// Returns the kernels for columns [column_begin, column_end) of the output.
///
/// Source: model/bind_tiles.cpp, bind_head_tiles.cpp
std::vector<KernelUse> tile_kernels(const OpOperands& use,
                                    const layout::Phase& phase,
                                    std::int64_t element_bytes) {
    std::vector<KernelUse> kernels;
    const auto& op = use.op();
    const auto columns = use.rows() * (op.column_end - op.column_begin) * element_bytes;
    // The logits of a tile are a separate matrix, so no columns are copied, except on a grid.
    const bool copies = phase.kind == layout::PhaseKind::linear ||
                        std::max(use.written(Role::output), use.read(Role::d_output)) > columns;
    if (copies && (op.direction == Direction::backward_input || op.direction == Direction::backward_weight)) {
        kernels.push_back({"take_columns", 1, 2 * columns});
    }
    if (op.direction != Direction::backward_weight || use.writes(Role::d_weight)) {
        kernels.push_back(product);
    }
    if (op.direction == Direction::backward_input && use.writes(Role::d_input)) {
        kernels.push_back({"convert", 1, use.written(Role::d_input_sum) + use.written(Role::d_input)});
    }
    if (op.direction == Direction::backward_weight && use.writes(Role::d_bias)) {
        add_column_sum(kernels, use, columns);
    }
    if (copies && (op.direction == Direction::forward || op.direction == Direction::recompute)) {
        kernels.push_back({"put_columns", 1, 2 * columns});
    }
    return kernels;
}

/// Kernels of the adapters of a phase (model/adapter_products.cpp).
class AdapterKernels {
  public:
    AdapterKernels(const OpOperands& use,
                   const layout::Phase& phase,
                   std::int64_t element_bytes,
                   std::int64_t rank)
        : phase_{phase},
          inner_{layout::AdapterWorkspace{phase, rank, use.rows(), element_bytes}.inner()},
          rank_{rank},
          column_bytes_{use.rows() * element_bytes} {}

    std::vector<KernelUse> forward() && {
        project_input();
        add_output();
        return std::move(made_);
    }
    std::vector<KernelUse> backward_input() && {
        project_all_gradients();
        add_input_gradient();
        return std::move(made_);
    }
    /// Returns the kernels of one of the ops of adapters on a grid of tensor ranks.
    std::vector<KernelUse> of_grid(const OpOperands& use) && {
        if (use.writes(Role::d_lora_a)) {
            for (const auto& adapter : phase_.adapters) {
                take_part_of_inner();
                take_columns_of(adapter);
                made_.push_back(product);
            }
            made_.push_back(product);
        } else if (use.writes(Role::lora_inner)) {
            project_input();
        } else if (use.reads(Role::lora_inner)) {
            add_output();
        } else if (use.writes(Role::d_lora_inner)) {
            project_all_gradients();
        } else {
            add_input_gradient();
        }
        return std::move(made_);
    }
    std::vector<KernelUse> backward_weight() && {
        project_input();
        for (const auto& adapter : phase_.adapters) {
            take_columns_of(adapter);
            take_part_of_inner();
            made_.push_back(product);
            project_gradient();
        }
        made_.push_back(product);
        return std::move(made_);
    }

  private:
    /// Adds a kernel that moves `matrices` matrices of `columns` columns.
    void add(const char* kernel, std::int64_t matrices, std::int64_t columns) {
        made_.push_back({kernel, 1, matrices * columns * column_bytes_});
    }
    void project_input() {
        made_.push_back(product);
        add("scale", 2, inner_);
    }
    void add_output() {
        for (const auto& adapter : phase_.adapters) {
            take_part_of_inner();
            made_.push_back(product);
            add("add_columns", 3, adapter.columns);
        }
    }
    void project_all_gradients() {
        for (const auto& adapter : phase_.adapters) {
            take_columns_of(adapter);
            project_gradient();
        }
    }
    void add_input_gradient() {
        made_.push_back(product);
        add("add_columns", 3, phase_.in);
    }
    void project_gradient() {
        made_.push_back(product);
        add("scale", 2, rank_);
        if (phase_.adapters.size() > 1) {
            add("put_columns", 2, rank_);
        }
    }
    void take_part_of_inner() {
        if (phase_.adapters.size() > 1) {
            add("take_columns", 2, rank_);
        }
    }
    void take_columns_of(const layout::Adapter& adapter) {
        if (adapter.columns != phase_.out) {
            add("take_columns", 2, adapter.columns);
        }
    }

    const layout::Phase& phase_;
    std::int64_t inner_, rank_, column_bytes_;
    std::vector<KernelUse> made_;
};

}  // namespace

std::vector<KernelUse> product_kernels(const OpOperands& use,
                                       const layout::Phase& phase,
                                       std::int64_t element_bytes,
                                       std::int64_t lora_rank) {
    const auto& op = use.op();
    if (op.column_end > 0) {
        return tile_kernels(use, phase, element_bytes);
    }
    if (use.reads(Role::lora_inner) || use.writes(Role::lora_inner) || use.reads(Role::d_lora_inner) ||
        use.writes(Role::d_lora_inner)) {
        return AdapterKernels{use, phase, element_bytes, lora_rank}.of_grid(use);
    }
    if (op.direction == Direction::backward_weight && use.writes(Role::d_lora_a)) {
        return AdapterKernels{use, phase, element_bytes, lora_rank}.backward_weight();
    }
    std::vector<KernelUse> kernels;
    const bool has_adapters_alone = use.reads(Role::lora_a) && !use.reads(Role::weight);
    if (op.direction == Direction::backward_weight ? use.writes(Role::d_weight) : !has_adapters_alone) {
        kernels.push_back(product);
    }
    if (op.direction == Direction::backward_weight) {
        if (use.writes(Role::d_bias)) {
            add_column_sum(kernels, use, use.read(Role::d_output));
        }
        return kernels;
    }
    add_gelu(kernels, use, phase);
    if (use.reads(Role::lora_a)) {
        AdapterKernels adapters{use, phase, element_bytes, lora_rank};
        const auto more = op.direction == Direction::backward_input ? std::move(adapters).backward_input()
                                                                    : std::move(adapters).forward();
        kernels.insert(kernels.end(), more.begin(), more.end());
    }
    return kernels;
}

std::vector<KernelUse> glu_product_kernels(const OpOperands& use, layout::PhaseKind unit, bool is_fused) {
    if (is_fused) {
        return {{"glu_product", 1, 0}};
    }
    const auto output = use.written(Role::activated);
    const auto gradient = use.written(Role::d_input) / 2;  // of the output, which the product has written
    const auto* const kernel = unit == layout::PhaseKind::geglu ? "geglu_backward" : "swiglu_backward";
    return {product,
            {kernel, 1, use.read(Role::activation_input) + gradient + use.written(Role::d_input) + output}};
}

}  // namespace ziggurat::plan
