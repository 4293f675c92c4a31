#include "kernels/glu/glu_product.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels {
namespace {

using tensor::bfloat16;

constexpr auto alignment = layout::CudaWorkspaces::alignment;

template <class T>
bool has_extents(TensorAddress<T, 2> matrix, std::int64_t rows, std::int64_t columns) {
    return matrix.extent(0) == rows && matrix.extent(1) == columns;
}

}  // namespace

namespace host {

std::unique_ptr<GluProductWays> make_glu_ways(const device::Stream&, const GluProductShape&) {
    ZG_EXPECTS(!"the stream is a GPU's");
    return nullptr;
}

}  // namespace host

void glu_product_backward(const device::Stream& stream,
                          PreparedArgument<GluProductWays> ways,
                          TensorAddress<const bfloat16, 2> dy,
                          TensorAddress<const bfloat16, 2> w,
                          TensorAddress<const bfloat16, 2> x,
                          TensorAddress<bfloat16, 2> dx,
                          TensorAddress<bfloat16, 2> active,
                          VectorAddress<std::byte> scratch) {
    launch_on_gpu<glu_product_backward>(stream, ways, dy, w, x, dx, active, scratch);
}

GluProduct::GluProduct(const device::Stream& stream, const GluProductShape& shape) : shape_{shape} {
    ZG_EXPECTS(shape.rows > 0 && shape.width > 0 && shape.out > 0);
    ways_ = prepare<host::make_glu_ways, cuda::make_glu_ways>(stream, shape);
}

GluProduct::~GluProduct() = default;
GluProduct::GluProduct(GluProduct&&) noexcept = default;
GluProduct& GluProduct::operator=(GluProduct&&) noexcept = default;

std::int64_t GluProduct::workspace_bytes() const noexcept {
    return alignment + ways_->scratch_bytes();
}

std::string GluProduct::refusal() const {
    return ways_->refusal();
}

void GluProduct::backward(const device::Stream& stream,
                          TensorAddress<const bfloat16, 2> dy,
                          TensorAddress<const bfloat16, 2> w,
                          TensorAddress<const bfloat16, 2> x,
                          TensorAddress<bfloat16, 2> dx,
                          TensorAddress<bfloat16, 2> active,
                          VectorAddress<std::byte> workspace) const {
    const auto [rows, width, out, unit, with_output] = shape_;
    ZG_EXPECTS(has_extents(dy, rows, out) && has_extents(w, out, width));
    ZG_EXPECTS(has_extents(x, rows, 2 * width) && has_extents(dx, rows, 2 * width));
    ZG_EXPECTS(with_output ? has_extents(active, rows, width) : active.empty());
    const auto begin = static_cast<std::int64_t>(-workspace.number() % std::uintptr_t{alignment});
    glu_product_backward(stream, {ways_.get()}, dy, w, x, dx, active,
                         workspace.part(begin, ways_->scratch_bytes()));
}

}  // namespace ziggurat::kernels
