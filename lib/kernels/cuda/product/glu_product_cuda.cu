#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "device/cuda/queue_cuda.hpp"
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

std::string text_of(const GluProductShape& shape) {
    return "[" + std::to_string(shape.rows) + ", " + std::to_string(shape.out) + "] [" +
           std::to_string(shape.out) + ", " + std::to_string(shape.width) + "], with the gradient of " +
           (shape.unit == GatedUnit::geglu ? "GEGLU" : "SwiGLU") +
           (shape.with_output ? " and its output" : "") + ", " + cudnn_library().name;
}

/// A product by one of several options.
///
/// Option 0 consists of a product of cuBLASLt and the kernel of the gradient. The others are kernels of
/// cuDNN.
class GpuGluProduct final : public PreparedGluProduct {
  public:
    GpuGluProduct(const device::Stream& stream, const GluProductShape& shape);

    std::int64_t scratch_bytes() const override {
        const auto of_cudnn = refusal_.empty() ? cudnn_->workspace_bytes(shape_) : 0;
        return std::max(product_.workspace_bytes(), of_cudnn);
    }
    std::string refusal() const override { return refusal_; }

    void run(const device::Stream& stream, const GluOperands& of, void* scratch) const {
        if (!device::cuda::is_loading()) {
            start(stream, option(), of, scratch);
        } else if (!std::exchange(is_loaded_, true)) {
            load(stream, of, scratch);
        }
    }

  private:
    GpuGluProduct(const device::Stream& stream,
                  const std::shared_ptr<CublasLt>& library,
                  const GluProductShape& shape,
                  std::int64_t max_bytes);

    /// Returns the option in use. If products are not measured, it is cuDNN's first choice, if it has one.
    int option() const { return choice_ != nullptr ? choice_->chosen : refusal_.empty() ? 1 : 0; }
    void start(const device::Stream& stream, int option, const GluOperands& of, void* scratch) const {
        if (option == 0) {
            start_apart(stream, of, scratch);
        } else {
            cudnn_->run(stream, shape_, option - 1, of, scratch);
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

GpuGluProduct::GpuGluProduct(const device::Stream& stream, const GluProductShape& shape)
    : GpuGluProduct{stream, device::cuda::libraries_of(stream).get<CublasLt>(), shape,
                    layout::CudaWorkspaces::product(shape.rows, shape.width, shape.out)} {}

GpuGluProduct::GpuGluProduct(const device::Stream& stream,
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
      cudnn_{device::cuda::libraries_of(stream).get<CudnnGlu>()} {
    if (!layout::CudaWorkspaces::fuses_glu(shape.width, shape.out)) {
        refusal_ = "the sizes of its matrices are not multiples of 8";
        return;
    }
    const int wanted = library->is_measuring() ? CudnnGlu::max_kernels : 1;
    const int found = cudnn_->prepare(shape, wanted, max_bytes);
    if (found == 0) {
        refusal_ = cudnn_->refusal(shape);
        return;
    }
    if (library->is_measuring()) {
        const auto product = text_of(shape);
        choice_ = &library->glu_choice_of(product);
        choice_->num_found = 1 + found;
        choice_->use_known(library->known(product));
    }
}

void GpuGluProduct::start_apart(const device::Stream& stream, const GluOperands& of, void* scratch) const {
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

/// Loads the kernels, and times the options if products are measured.
void GpuGluProduct::load(const device::Stream& stream, const GluOperands& of, void* scratch) const {
    start_apart(stream, of, scratch);
    const device::cuda::StartedLaunches started;
    if (choice_ == nullptr || !choice_->must_measure()) {
        if (option() > 0) {
            start(stream, option(), of, scratch);
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
    for (int option = 1; option < choice_->num_found; ++option) {
        try {
            start(stream, option, of, scratch);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::internal) {
                throw;
            }
            choice_->num_found = option;  // without the kernel that cuDNN cannot start, and those after it
        }
    }
    choice_->use_fastest(handle, [&](int option) { start(stream, option, of, scratch); });
}

}  // namespace

std::unique_ptr<PreparedGluProduct> make_glu_product(const device::Stream& stream,
                                                     const GluProductShape& shape) {
    return std::make_unique<GpuGluProduct>(stream, shape);
}

void glu_product_backward(const device::Stream& stream,
                          PreparedArgument<PreparedGluProduct> product,
                          TensorRef<const bfloat16, 2> dy,
                          TensorRef<const bfloat16, 2> w,
                          TensorRef<const bfloat16, 2> x,
                          TensorRef<bfloat16, 2> dx,
                          TensorRef<bfloat16, 2> active,
                          std::span<std::byte> scratch) {
    const auto* const made = dynamic_cast<const GpuGluProduct*>(product.object);
    ZG_EXPECTS(made != nullptr);
    made->run(stream, {dy.data, w.data, x.data, dx.data, active.data}, scratch.data());
}

ZG_REGISTER_CUDA_KERNEL(glu_product_backward);

}  // namespace ziggurat::kernels::cuda
