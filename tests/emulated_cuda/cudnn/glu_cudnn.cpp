/// Stand-in for lib/kernels/cuda/cudnn/glu_cudnn_cuda.cpp on emulated GPUs.
///
/// It is the same class with plain loops. It has two kernels for the shapes that the plan assigns to cuDNN.
/// They add in different orders, so that bits differ. Both need a workspace, which they overwrite. With
/// ZIGGURAT_EMULATED_CUDA_CUDNN=0 the library is missing.
#include "kernels/cuda/cudnn/glu_cudnn_cuda.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/contract.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/enqueue.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using tensor::bfloat16;

constexpr int num_kernels = 2;
constexpr std::int64_t scratch_bytes = 512;

/// A value of the unit's activation and its derivative.
struct Activation {
    float value, derivative;
};

Activation activation_of(GatedUnit unit, float z) {
    if (unit == GatedUnit::swiglu) {
        const float s = 1 / (1 + std::exp(-z));
        return {z * s, s * (1 + z * (1 - s))};
    }
    constexpr float root_of_two_over_pi = 0.7978845608F, cubic = 0.044715F;
    const float t = std::tanh(root_of_two_over_pi * (z + cubic * z * z * z));
    return {0.5F * z * (1 + t),
            0.5F * (1 + t) + 0.5F * z * (1 - t * t) * root_of_two_over_pi * (1 + 3 * cubic * z * z)};
}

/// \param kernel  1: adds in descending order
void multiply_glu(const GluProductShape& shape, int kernel, const GluOperands& of) {
    const auto width = shape.width;
    std::vector<float> sums(static_cast<std::size_t>(width));
    for (std::int64_t row = 0; row < shape.rows; ++row) {
        std::ranges::fill(sums, 0.0F);
        for (std::int64_t n = 0; n < shape.out; ++n) {
            const auto k = kernel == 0 ? n : shape.out - 1 - n;
            const float factor = float(of.dy[row * shape.out + k]);
            for (std::int64_t c = 0; c < width; ++c) {
                sums[static_cast<std::size_t>(c)] += factor * float(of.w[k * width + c]);
            }
        }
        const auto* const gates = of.x + row * 2 * width;
        auto* const d_gates = of.dx + row * 2 * width;
        for (std::int64_t c = 0; c < width; ++c) {
            const float d = sums[static_cast<std::size_t>(c)], up = float(gates[width + c]);
            const auto gate = activation_of(shape.unit, float(gates[c]));
            d_gates[c] = bfloat16{d * up * gate.derivative};
            d_gates[width + c] = bfloat16{d * gate.value};
            if (shape.with_output) {
                of.active[row * width + c] = bfloat16{gate.value * up};
            }
        }
    }
}

}  // namespace

struct CudnnGlu::Gpu {};

CudnnGlu::CudnnGlu() {
    if (cudnn_library().unusable_reason.empty()) {
        gpu_ = std::make_unique<Gpu>();
    }
}

CudnnGlu::~CudnnGlu() = default;

int CudnnGlu::prepare(const GluProductShape&, int wanted, std::int64_t max_workspace_bytes) {
    ZG_EXPECTS(max_workspace_bytes >= scratch_bytes);
    return gpu_ == nullptr ? 0 : std::min(wanted, num_kernels);
}

std::string CudnnGlu::refusal(const GluProductShape&) const {
    return cudnn_library().unusable_reason;
}

std::int64_t CudnnGlu::workspace_bytes(const GluProductShape&) const {
    return gpu_ == nullptr ? 0 : scratch_bytes;
}

void CudnnGlu::run(const device::Stream& stream,
                   const GluProductShape& shape,
                   int kernel,
                   const GluOperands& operands,
                   void* workspace) {
    ZG_EXPECTS(gpu_ != nullptr && layout::CudaWorkspaces::fuses_glu(shape.width, shape.out));
    const auto is_aligned = [](const void* address) {
        return reinterpret_cast<std::uintptr_t>(address) % 16 == 0;
    };
    ZG_EXPECTS(is_aligned(operands.dy) && is_aligned(operands.w) && is_aligned(operands.x) &&
               is_aligned(operands.dx) && is_aligned(operands.active));
    emulated_cuda::count_launch(reinterpret_cast<const void*>(&multiply_glu));
    device::cuda::check(emulated_cuda::enqueue(device::cuda::handle_of(stream),
                                               [=] {
                                                   std::memset(workspace, 0xff, scratch_bytes);
                                                   multiply_glu(shape, kernel, operands);
                                               }),
                        "multiply with the gradient of a gated unit");
}

}  // namespace ziggurat::kernels::cuda
