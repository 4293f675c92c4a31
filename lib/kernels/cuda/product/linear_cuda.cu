#include <algorithm>
#include <optional>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "kernels/cuda/launch_cuda.hpp"
#include "kernels/cuda/product/product_cuda.hpp"
#include "kernels/linear_products.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::TensorRef;

template <class T>
inline constexpr cudaDataType_t type_of = sizeof(T) == 2 ? CUDA_R_16BF : CUDA_R_32F;

/// Products of cuBLASLt, each with the algorithm chosen for the shape.
///
/// All of them read weights in place.
template <class T>
class GpuProducts final : public LinearProducts<T> {
  public:
    GpuProducts(const std::shared_ptr<CublasLt>& library, const LinearShape& shape) {
        if (shape.rows == 0) {
            return;
        }
        constexpr auto type = type_of<T>;
        const auto rows = shape.rows, in = shape.in, out = shape.out;
        const auto limit = layout::CudaWorkspaces::product(rows, in, out);
        const LtMatrix x{type, rows, in}, dy{type, rows, out}, w{type, out, in};
        const LtMatrix w_transposed{type, out, in, true}, y{type, rows, out}, dx{type, rows, in};
        forward.emplace(library, x, w_transposed, y, shape.has_bias ? Epilogue::bias : Epilogue::none, limit);
        backward_input.emplace(library, dy, w, dx, Epilogue::none, limit);
        backward_weight.emplace(library, LtMatrix{type, rows, out, true}, x, LtMatrix{CUDA_R_32F, out, in},
                                Epilogue::none, limit);
        if (shape.is_tile) {
            backward_input_sum.emplace(library, dy, w, LtMatrix{CUDA_R_32F, rows, in}, Epilogue::none, limit);
        }
        if (shape.with_gelu && shape.has_bias) {
            prepare_if_any(forward_gelu, library, x, w_transposed, y, Epilogue::gelu_bias, limit);
        }
        if (shape.with_gelu) {
            prepare_if_any(backward_gelu, library, dy, w, dx, Epilogue::gelu_gradient, limit);
        }
    }

    std::int64_t packed_bytes(Packing) const noexcept override { return 0; }
    std::int64_t scratch_bytes() const noexcept override {
        return std::max({bytes_of(forward), bytes_of(backward_input), bytes_of(backward_input_sum),
                         bytes_of(forward_gelu), bytes_of(backward_gelu)});
    }
    std::int64_t weight_scratch_bytes() const noexcept override { return bytes_of(backward_weight); }
    std::int64_t alignment() const noexcept override { return layout::CudaWorkspaces::alignment; }

    bool has_forward_added() const noexcept override { return true; }
    bool has_forward_gelu() const noexcept override { return forward_gelu.has_value(); }
    bool has_backward_gelu() const noexcept override { return backward_gelu.has_value(); }

    std::optional<LtProduct> forward, backward_input, backward_input_sum, backward_weight;
    std::optional<LtProduct> forward_gelu, backward_gelu;

  private:
    /// Prepares `product` if cuBLASLt supports it.
    ///
    /// Leaves it empty if the epilogues do not support the row length of `aux`, or no kernel supports the
    /// shape.
    static void prepare_if_any(std::optional<LtProduct>& product,
                               const std::shared_ptr<CublasLt>& library,
                               const LtMatrix& left,
                               const LtMatrix& right,
                               const LtMatrix& result,
                               Epilogue epilogue,
                               std::int64_t limit) {
        if (result.type != CUDA_R_16BF || !layout::CudaWorkspaces::fuses_gelu(result.columns)) {
            return;
        }
        try {
            product.emplace(library, left, right, result, epilogue, limit);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::internal) {
                throw;
            }
        }
    }
    static std::int64_t bytes_of(const std::optional<LtProduct>& product) {
        return product ? product->workspace_bytes() : 0;
    }
};

template <class T>
const GpuProducts<T>& of_gpu(PreparedArgument<LinearProducts<T>> products) {
    const auto* const made = dynamic_cast<const GpuProducts<T>*>(products.object);
    ZG_EXPECTS(made != nullptr);
    return *made;
}

}  // namespace

template <class T>
std::unique_ptr<LinearProducts<T>> make_products(const device::Stream& stream, const LinearShape& shape) {
    return std::make_unique<GpuProducts<T>>(device::cuda::libraries_of(stream).template get<CublasLt>(),
                                            shape);
}

std::shared_ptr<ProductTuner> product_tuner(const device::Stream& stream) {
    return device::cuda::libraries_of(stream).get<CublasLt>();
}

template <class T>
void linear_forward(const device::Stream& stream,
                    PreparedArgument<LinearProducts<T>> products,
                    TensorRef<const T, 2> x,
                    std::span<const std::byte> weight,
                    TensorRef<const T, 1> bias,
                    TensorRef<T, 2> y,
                    std::span<std::byte> scratch) {
    of_gpu(products).forward->run(stream, x.data, weight.data(), {.bias = bias.empty() ? nullptr : bias.data},
                                  y.data, Accumulate::no, scratch.data());
}

template <class T>
void linear_backward_input(const device::Stream& stream,
                           PreparedArgument<LinearProducts<T>> products,
                           TensorRef<const T, 2> dy,
                           std::span<const std::byte> weight,
                           TensorRef<T, 2> dx,
                           std::span<std::byte> scratch) {
    of_gpu(products).backward_input->run(stream, dy.data, weight.data(), {}, dx.data, Accumulate::no,
                                         scratch.data());
}

template <class T>
void linear_forward_added(const device::Stream& stream,
                          PreparedArgument<LinearProducts<T>> products,
                          TensorRef<const T, 2> x,
                          TensorRef<const T, 2> w,
                          TensorRef<const T, 1> bias,
                          TensorRef<const T, 2> addend,
                          TensorRef<T, 2> y,
                          std::span<std::byte> scratch) {
    of_gpu(products).forward->run(stream, x.data, w.data,
                                  {.bias = bias.empty() ? nullptr : bias.data, .addend = addend.data}, y.data,
                                  Accumulate::no, scratch.data());
}

template <class T>
void linear_forward_gelu(const device::Stream& stream,
                         PreparedArgument<LinearProducts<T>> products,
                         TensorRef<const T, 2> x,
                         TensorRef<const T, 2> w,
                         TensorRef<const T, 1> bias,
                         TensorRef<T, 2> y,
                         TensorRef<T, 2> active,
                         std::span<std::byte> scratch) {
    of_gpu(products).forward_gelu->run(stream, x.data, w.data, {.bias = bias.data, .aux = y.data},
                                       active.data, Accumulate::no, scratch.data());
}

template <class T>
void linear_backward_input_gelu(const device::Stream& stream,
                                PreparedArgument<LinearProducts<T>> products,
                                TensorRef<const T, 2> dy,
                                TensorRef<const T, 2> w,
                                TensorRef<const T, 2> before,
                                TensorRef<T, 2> dx,
                                std::span<std::byte> scratch) {
    of_gpu(products).backward_gelu->run(stream, dy.data, w.data, {.aux = before.data}, dx.data,
                                        Accumulate::no, scratch.data());
}

template <class T>
void linear_backward_input_sum(const device::Stream& stream,
                               PreparedArgument<LinearProducts<T>> products,
                               TensorRef<const T, 2> dy,
                               std::span<const std::byte> weight,
                               TensorRef<float, 2> dx,
                               Accumulate accumulate,
                               std::span<std::byte> scratch) {
    of_gpu(products).backward_input_sum->run(stream, dy.data, weight.data(), {}, dx.data, accumulate,
                                             scratch.data());
}

template <class T>
void linear_backward_weight(const device::Stream& stream,
                            PreparedArgument<LinearProducts<T>> products,
                            TensorRef<const T, 2> x,
                            TensorRef<const T, 2> dy,
                            TensorRef<float, 2> dw,
                            Accumulate accumulate,
                            std::span<std::byte> scratch) {
    of_gpu(products).backward_weight->run(stream, dy.data, x.data, {}, dw.data, accumulate, scratch.data());
}

#define ZG_INSTANTIATE(T)                                                                                    \
    template std::unique_ptr<LinearProducts<T>> make_products<T>(const device::Stream&, const LinearShape&); \
    ZG_REGISTER_CUDA_KERNEL(linear_forward<T>);                                                              \
    ZG_REGISTER_CUDA_KERNEL(linear_backward_input<T>);                                                       \
    ZG_REGISTER_CUDA_KERNEL(linear_forward_added<T>);                                                        \
    ZG_REGISTER_CUDA_KERNEL(linear_forward_gelu<T>);                                                         \
    ZG_REGISTER_CUDA_KERNEL(linear_backward_input_gelu<T>);                                                  \
    ZG_REGISTER_CUDA_KERNEL(linear_backward_input_sum<T>);                                                   \
    ZG_REGISTER_CUDA_KERNEL(linear_backward_weight<T>)
ZG_INSTANTIATE(float);
ZG_INSTANTIATE(tensor::bfloat16);
#undef ZG_INSTANTIATE

}  // namespace ziggurat::kernels::cuda
