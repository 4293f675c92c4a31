#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "kernels/built_with.hpp"
#include "kernels/cuda/cudnn/glu_cudnn_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/product/product_cuda.hpp"
#include "kernels/cuda/swiglu_cuda.hpp"
#include "kernels/glu/glu_product.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::bfloat16;
using tensor::TensorRef;

/// Calls of cuDNN, which some builds do not have.
template <bool is_in_build>
struct OfCudnn {
    static std::shared_ptr<CudnnGlu> open(const device::Stream& stream) {
        if constexpr (is_in_build) {
            return device::cuda::libraries_of(stream).get<CudnnGlu>();
        }
        return nullptr;
    }
    static int prepare(CudnnGlu& cudnn, const GluProductShape& shape, int wanted, std::int64_t bytes) {
        if constexpr (is_in_build) {
            return cudnn.prepare(shape, wanted, bytes);
        }
        return 0;
    }
    static std::string refusal(const CudnnGlu& cudnn, const GluProductShape& shape) {
        if constexpr (is_in_build) {
            return cudnn.refusal(shape);
        }
        return "";
    }
    static std::int64_t workspace_bytes(const CudnnGlu& cudnn, const GluProductShape& shape) {
        if constexpr (is_in_build) {
            return cudnn.workspace_bytes(shape);
        }
        return 0;
    }
    static std::string name() {
        if constexpr (is_in_build) {
            return cudnn_library().name;
        }
        return "";
    }
    static void run(CudnnGlu& cudnn,
                    const device::Stream& stream,
                    const GluProductShape& shape,
                    int way,
                    const GluOperands& of,
                    void* workspace) {
        if constexpr (is_in_build) {
            cudnn.run(stream, shape, way, of, workspace);
        }
    }
};

using Cudnn = OfCudnn<has_cudnn>;

std::string text_of(const GluProductShape& shape) {
    return "[" + std::to_string(shape.rows) + ", " + std::to_string(shape.out) + "] [" +
           std::to_string(shape.out) + ", " + std::to_string(shape.width) + "], with the gradient of " +
           (shape.unit == GatedUnit::geglu ? "GEGLU" : "SwiGLU") +
           (shape.with_output ? " and its output" : "") + ", " + Cudnn::name();
}

/// Ways of one shape. Way 0 are two kernels: a product of cuBLASLt, and the gradient of the unit.
class GpuWays final : public GluProductWays {
  public:
    GpuWays(const device::Stream& stream, const GluProductShape& shape);

    std::int64_t scratch_bytes() const override {
        const auto of_cudnn = refusal_.empty() ? Cudnn::workspace_bytes(*cudnn_, shape_) : 0;
        return std::max(product_.workspace_bytes(), of_cudnn);
    }
    std::string refusal() const override { return refusal_; }

    void run(const device::Stream& stream, const GluOperands& of, void* scratch) const {
        if (!device::cuda::is_loading()) {
            start(stream, way(), of, scratch);
        } else if (!std::exchange(is_loaded_, true)) {
            load(stream, of, scratch);
        }
    }

  private:
    GpuWays(const device::Stream& stream,
            const std::shared_ptr<CublasLt>& library,
            const GluProductShape& shape,
            std::int64_t max_bytes);

    /// Returns the way in use. If products are not measured, it is cuDNN's first choice, if it has one.
    int way() const { return choice_ != nullptr ? choice_->chosen : refusal_.empty() ? 1 : 0; }
    void start(const device::Stream& stream, int way, const GluOperands& of, void* scratch) const {
        if (way == 0) {
            start_apart(stream, of, scratch);
        } else {
            Cudnn::run(*cudnn_, stream, shape_, way - 1, of, scratch);
        }
    }
    void start_apart(const device::Stream& stream, const GluOperands& of, void* scratch) const;
    void load(const device::Stream& stream, const GluOperands& of, void* scratch) const;

    GluProductShape shape_;
    std::shared_ptr<CublasLt> library_;
    LtProduct product_;  ///< into `active`, or without it into the gates of dx
    std::shared_ptr<CudnnGlu> cudnn_;
    std::string refusal_;
    Choice* choice_ = nullptr;  ///< of library_; nullptr: it is not measured
    mutable bool is_loaded_ = false;
};

GpuWays::GpuWays(const device::Stream& stream, const GluProductShape& shape)
    : GpuWays{stream, device::cuda::libraries_of(stream).get<CublasLt>(), shape,
              layout::CudaWorkspaces::product(shape.rows, shape.width, shape.out)} {}

GpuWays::GpuWays(const device::Stream& stream,
                 const std::shared_ptr<CublasLt>& library,
                 const GluProductShape& shape,
                 std::int64_t max_bytes)
    : shape_{shape},
      library_{library},
      product_{library,
               LtMatrix{CUDA_R_16BF, shape.rows, shape.out},
               LtMatrix{CUDA_R_16BF, shape.out, shape.width},
               LtMatrix{CUDA_R_16BF, shape.rows, shape.width, false, shape.with_output ? 0 : 2 * shape.width},
               Epilogue::none,
               max_bytes},
      cudnn_{Cudnn::open(stream)} {
    if (cudnn_ == nullptr) {
        refusal_ = "this build has no cuDNN";
        return;
    }
    if (!layout::CudaWorkspaces::fuses_glu(shape.width, shape.out)) {
        refusal_ = "the sizes of its matrices are not multiples of 8";
        return;
    }
    const int wanted = library->is_measuring() ? CudnnGlu::max_ways : 1;
    const int found = Cudnn::prepare(*cudnn_, shape, wanted, max_bytes);
    if (found == 0) {
        refusal_ = Cudnn::refusal(*cudnn_, shape);
        return;
    }
    if (library->is_measuring()) {
        choice_ = &library->glu_choice_of(text_of(shape));
        choice_->num_found = 1 + found;
        choice_->use_known(library->known(text_of(shape)));
    }
}

void GpuWays::start_apart(const device::Stream& stream, const GluOperands& of, void* scratch) const {
    const std::array<std::int64_t, 2> whole{shape_.rows, 2 * shape_.width}, half{shape_.rows, shape_.width};
    auto* const d_active = shape_.with_output ? of.active : of.dx;
    product_.run(stream, of.dy, of.w, {}, d_active, Accumulate::no, scratch);
    const TensorRef<const bfloat16, 2> x{of.x, whole}, d{d_active, shape_.with_output ? half : whole};
    const TensorRef<bfloat16, 2> dx{of.dx, whole};
    const auto y = shape_.with_output ? TensorRef<bfloat16, 2>{of.active, half} : TensorRef<bfloat16, 2>{};
    const auto gradient =
        shape_.unit == GatedUnit::geglu ? geglu_backward<bfloat16> : swiglu_backward<bfloat16>;
    gradient(stream, x, d, dx, y);
}

/// Loads the kernels, and times the ways if products are measured.
void GpuWays::load(const device::Stream& stream, const GluOperands& of, void* scratch) const {
    start_apart(stream, of, scratch);
    const device::cuda::StartedLaunches started;
    if (choice_ == nullptr || !choice_->must_measure()) {
        if (way() > 0) {
            start(stream, way(), of, scratch);
        }
        return;
    }
    // No memory holds data yet.
    auto* const handle = device::cuda::handle_of(stream);
    const auto fill = [&](const bfloat16* matrix, std::int64_t count) {
        fill_sample(handle, CUDA_R_16BF, count, const_cast<bfloat16*>(matrix));
    };
    fill(of.dy, shape_.rows * shape_.out);
    fill(of.w, shape_.out * shape_.width);
    fill(of.x, shape_.rows * 2 * shape_.width);
    for (int way = 1; way < choice_->num_found; ++way) {
        try {
            start(stream, way, of, scratch);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::internal) {
                throw;
            }
            choice_->num_found = way;  // without the kernel that cuDNN cannot start, and those after it
        }
    }
    choice_->use_fastest(handle, [&](int way) { start(stream, way, of, scratch); });
}

}  // namespace

std::unique_ptr<GluProductWays> make_glu_ways(const device::Stream& stream, const GluProductShape& shape) {
    return std::make_unique<GpuWays>(stream, shape);
}

void glu_product_backward(const device::Stream& stream,
                          PreparedArgument<GluProductWays> ways,
                          TensorRef<const bfloat16, 2> dy,
                          TensorRef<const bfloat16, 2> w,
                          TensorRef<const bfloat16, 2> x,
                          TensorRef<bfloat16, 2> dx,
                          TensorRef<bfloat16, 2> active,
                          std::span<std::byte> scratch) {
    const auto* const made = dynamic_cast<const GpuWays*>(ways.object);
    ZG_EXPECTS(made != nullptr);
    made->run(stream, {dy.data, w.data, x.data, dx.data, active.data}, scratch.data());
}

ZG_REGISTER_CUDA_KERNEL(glu_product_backward);

}  // namespace ziggurat::kernels::cuda
