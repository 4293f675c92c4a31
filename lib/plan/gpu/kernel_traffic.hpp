/// Kernels that the ops of a step program launch on a GPU, and the bytes that they move.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Launches of one kernel by one op.
struct KernelUse {
    /// Name of the launched kernel; for library calls "product", "attention" and "glu_product", a product
    /// with the gradient of a gated unit.
    const char* kernel = "";
    std::int64_t launches = 1;
    /// Bytes of operands that it reads and writes, each counted one time. 0 for library calls, which are
    /// compute-bound. Partial sums in workspaces stay in the GPU's cache and are not counted.
    std::int64_t bytes = 0;

    bool operator==(const KernelUse&) const = default;
};

/// The count of a product that cuDNN computes with the gradient of a gated unit.
enum class FusedProducts {
    as_run,    ///< one kernel
    separate,  ///< two kernels: for times, because no GPU has timed cuDNN's kernel
};

/// Kernels and traffic of ops.
///
/// Sizes of operands are those of the op. Which operands a kernel reads and writes follows the binders
/// (model/bind_*.cpp, train/ops/bind_state_ops.cpp) and kernels/cuda.
class KernelTraffic {
  public:
    /// Arguments must outlive the object.
    /// \param has_cudnn   cuDNN computes attention, and products that are fused, if it can
    /// \param fused_products  of precision.products fused
    KernelTraffic(const spec::RunSpec& spec,
                  const schedule::ModelLayout& model,
                  const schedule::Program& program,
                  bool has_cudnn = true,
                  FusedProducts fused_products = FusedProducts::as_run)
        : spec_{spec},
          model_{model},
          program_{program},
          has_cudnn_{has_cudnn},
          has_fused_products_{has_cudnn && fused_products == FusedProducts::as_run &&
                              spec.precision.products == spec::ProductChoice::fused} {}

    /// Returns the kernels of `op` in the order of their launches.
    ///
    /// Empty for ops of other lanes than compute: collectives, copies, disks, and updates on the host. A
    /// library call counts as one launch.
    std::vector<KernelUse> of(const schedule::Op& op) const;

  private:
    const spec::RunSpec& spec_;
    const schedule::ModelLayout& model_;
    const schedule::Program& program_;
    bool has_cudnn_;
    bool has_fused_products_;
};

}  // namespace ziggurat::plan
