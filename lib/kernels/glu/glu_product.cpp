#include "kernels/glu/glu_product.hpp"

#include <array>

#include "base/contract.hpp"
#include "kernels/launch/aligned_part.hpp"
#include "kernels/launch/launch.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

constexpr auto alignment = layout::CudaWorkspaces::alignment;

using Extents = std::array<std::int64_t, 2>;

}  // namespace

namespace host {

std::unique_ptr<PreparedGluProduct> make_glu_product(const device::Stream&, const GluProductShape&) {
    ZG_EXPECTS(!"the stream is a GPU's");
    return nullptr;
}

}  // namespace host

void glu_product_backward(const device::Stream& stream,
                          PreparedArgument<PreparedGluProduct> product,
                          TensorAddress<const bfloat16, 2> dy,
                          TensorAddress<const bfloat16, 2> w,
                          TensorAddress<const bfloat16, 2> x,
                          TensorAddress<bfloat16, 2> dx,
                          TensorAddress<bfloat16, 2> active,
                          VectorAddress<std::byte> scratch) {
    launch_on_gpu<glu_product_backward>(stream, product, dy, w, x, dx, active, scratch);
}

GluProduct::GluProduct(const device::Stream& stream, const GluProductShape& shape) : shape_{shape} {
    ZG_EXPECTS(shape.rows > 0 && shape.width > 0 && shape.out > 0);
    prepared_ = prepare<host::make_glu_product, cuda::make_glu_product>(stream, shape);
}

GluProduct::~GluProduct() = default;
GluProduct::GluProduct(GluProduct&&) noexcept = default;
GluProduct& GluProduct::operator=(GluProduct&&) noexcept = default;

std::int64_t GluProduct::workspace_bytes() const noexcept {
    return alignment + prepared_->scratch_bytes();
}

std::string GluProduct::refusal() const {
    return prepared_->refusal();
}

void GluProduct::backward(const device::Stream& stream,
                          TensorAddress<const bfloat16, 2> dy,
                          TensorAddress<const bfloat16, 2> w,
                          TensorAddress<const bfloat16, 2> x,
                          TensorAddress<bfloat16, 2> dx,
                          TensorAddress<bfloat16, 2> active,
                          VectorAddress<std::byte> workspace) const {
    const auto [rows, width, out, unit, with_output] = shape_;
    ZG_EXPECTS((dy.extents() == Extents{rows, out}) && (w.extents() == Extents{out, width}));
    ZG_EXPECTS((x.extents() == Extents{rows, 2 * width}) && dx.extents() == x.extents());
    ZG_EXPECTS(with_output ? active.extents() == (Extents{rows, width}) : active.empty());
    glu_product_backward(stream, {prepared_.get()}, dy, w, x, dx, active,
                         aligned_part(workspace, prepared_->scratch_bytes(), alignment));
}

}  // namespace ziggurat::kernels
