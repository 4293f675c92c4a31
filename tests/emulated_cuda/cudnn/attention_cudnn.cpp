/// Stand-in for lib/kernels/cuda/cudnn/attention_cudnn_cuda.cpp on emulated GPUs.
///
/// It is the same class with passes as plain loops. It supports the shapes that the plan assigns to cuDNN,
/// and saves the natural logarithm, so a mix of a pass of cuDNN and one of Ziggurat's own kernels gives
/// wrong results. With AttentionShape::any_order, backward adds queries in descending order, so that bits
/// differ. It checks and overwrites its workspace. With ZIGGURAT_EMULATED_CUDA_CUDNN=0 the library is
/// missing.
#include "kernels/cuda/cudnn/attention_cudnn_cuda.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "layout/cuda_workspaces.hpp"
#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/enqueue.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using layout::CudaWorkspaces;
using tensor::bfloat16;

bool has_library() {
    const char* const text = std::getenv("ZIGGURAT_EMULATED_CUDA_CUDNN");
    return text == nullptr || std::string_view{text} != "0";
}

layout::AttentionSizes sizes_of(const AttentionShape& shape) {
    return {shape.batch, shape.seq, shape.heads, shape.kv_heads, shape.head_dim, shape.any_order};
}

/// Rows of one query head of one sequence in the tensors of a call.
struct Head {
    const AttentionShape& shape;
    std::int64_t batch, head;

    std::int64_t width() const { return (shape.heads + 2 * shape.kv_heads) * shape.head_dim; }
    std::int64_t kv_head() const { return head / (shape.heads / shape.kv_heads); }
    std::int64_t query(std::int64_t i) const {
        return (batch * shape.seq + i) * width() + head * shape.head_dim;
    }
    std::int64_t key(std::int64_t i) const {
        return (batch * shape.seq + i) * width() + (shape.heads + kv_head()) * shape.head_dim;
    }
    std::int64_t value(std::int64_t i) const { return key(i) + shape.kv_heads * shape.head_dim; }
    std::int64_t output(std::int64_t i) const {
        return ((batch * shape.seq + i) * shape.heads + head) * shape.head_dim;
    }
    std::int64_t lse(std::int64_t i) const { return (batch * shape.heads + head) * shape.seq + i; }
    float scale() const { return shape.score_scale(); }

    float dot(const bfloat16* a, const bfloat16* b) const {
        float sum = 0;
        for (std::int64_t d = 0; d < shape.head_dim; ++d) {
            sum += float(a[d]) * float(b[d]);
        }
        return sum;
    }
};

template <class Body>
void for_heads(const AttentionShape& shape, const Body& body) {
    for (std::int64_t b = 0; b < shape.batch; ++b) {
        for (std::int64_t h = 0; h < shape.heads; ++h) {
            body(Head{shape, b, h});
        }
    }
}

void attend(const Head& of, const bfloat16* qkv, bfloat16* out, float* lse) {
    const auto dims = of.shape.head_dim;
    std::vector<float> weights(static_cast<std::size_t>(of.shape.seq));
    std::vector<float> sums(static_cast<std::size_t>(dims));
    for (std::int64_t i = 0; i < of.shape.seq; ++i) {
        float top = -INFINITY;
        for (std::int64_t j = 0; j <= i; ++j) {
            auto& score = weights[static_cast<std::size_t>(j)];
            score = of.scale() * of.dot(qkv + of.query(i), qkv + of.key(j));
            top = std::max(top, score);
        }
        float total = 0;
        std::ranges::fill(sums, 0.0F);
        for (std::int64_t j = 0; j <= i; ++j) {
            const float weight = std::exp(weights[static_cast<std::size_t>(j)] - top);
            total += weight;
            for (std::int64_t d = 0; d < dims; ++d) {
                sums[static_cast<std::size_t>(d)] += weight * float(qkv[of.value(j) + d]);
            }
        }
        for (std::int64_t d = 0; d < dims; ++d) {
            out[of.output(i) + d] = bfloat16{sums[static_cast<std::size_t>(d)] / total};
        }
        lse[of.lse(i)] = top + std::log(total);
    }
}

/// Adds the gradients of one head, in float, with the layout of qkv.
void add_gradients(const Head& of,
                   const bfloat16* qkv,
                   const bfloat16* out,
                   const bfloat16* d_out,
                   const float* lse,
                   std::vector<float>& d_qkv) {
    const auto dims = of.shape.head_dim;
    const auto at = [&](std::int64_t first, std::int64_t d) -> float& {
        return d_qkv[static_cast<std::size_t>(first + d)];
    };
    for (std::int64_t n = 0; n < of.shape.seq; ++n) {
        const auto i = of.shape.any_order ? of.shape.seq - 1 - n : n;
        const float delta = of.dot(out + of.output(i), d_out + of.output(i));
        for (std::int64_t j = 0; j <= i; ++j) {
            const float score = of.scale() * of.dot(qkv + of.query(i), qkv + of.key(j));
            const float weight = std::exp(score - lse[of.lse(i)]);
            const float d_score =
                of.scale() * weight * (of.dot(d_out + of.output(i), qkv + of.value(j)) - delta);
            for (std::int64_t d = 0; d < dims; ++d) {
                at(of.value(j), d) += weight * float(d_out[of.output(i) + d]);
                at(of.query(i), d) += d_score * float(qkv[of.key(j) + d]);
                at(of.key(j), d) += d_score * float(qkv[of.query(i) + d]);
            }
        }
    }
}

/// \param calls  number of library calls to count, under the name of `pass`
void enqueue(const device::Stream& stream, std::function<void()> work, std::int64_t calls, const void* pass) {
    for (std::int64_t i = 0; i < calls; ++i) {
        emulated_cuda::count_launch(pass);
    }
    device::cuda::check(emulated_cuda::enqueue(device::cuda::handle_of(stream), std::move(work)),
                        "compute attention");
}

}  // namespace

struct CudnnAttention::Gpu {};

CudnnAttention::CudnnAttention() {
    if (has_library()) {
        gpu_ = std::make_unique<Gpu>();
    }
}

CudnnAttention::~CudnnAttention() = default;

bool CudnnAttention::has(const AttentionShape& shape) {
    return gpu_ != nullptr && CudaWorkspaces::attention_piece(sizes_of(shape)).has_value();
}

void CudnnAttention::forward(const device::Stream& stream,
                             const AttentionShape& shape,
                             const bfloat16* qkv,
                             bfloat16* out,
                             float* lse,
                             std::span<std::byte> workspace) {
    ZG_EXPECTS(has(shape) && std::ssize(workspace) >= CudaWorkspaces::attention_forward_bytes);
    enqueue(
        stream,
        [=] {
            std::memset(workspace.data(), 0xff, workspace.size());
            for_heads(shape, [&](const Head& head) { attend(head, qkv, out, lse); });
        },
        1, reinterpret_cast<const void*>(&attend));
}

void CudnnAttention::backward(const device::Stream& stream,
                              const AttentionShape& shape,
                              const bfloat16* qkv,
                              const bfloat16* out,
                              const bfloat16* d_out,
                              const float* lse,
                              bfloat16* d_qkv,
                              std::span<std::byte> workspace) {
    const CudaWorkspaces planned{layout::AttentionUse{.is_bfloat16 = true}};
    ZG_EXPECTS(has(shape) && std::ssize(workspace) >= planned.attention_backward(sizes_of(shape)));
    const auto piece = CudaWorkspaces::attention_piece(sizes_of(shape));
    const auto calls = (shape.batch / piece->sequences) * (shape.kv_heads / piece->kv_heads);
    enqueue(
        stream,
        [=] {
            std::memset(workspace.data(), 0xff, workspace.size());
            std::vector<float> gradients(static_cast<std::size_t>(
                shape.batch * shape.seq * (shape.heads + 2 * shape.kv_heads) * shape.head_dim));
            for_heads(shape, [&](const Head& head) { add_gradients(head, qkv, out, d_out, lse, gradients); });
            std::ranges::transform(gradients, d_qkv, [](float value) { return bfloat16{value}; });
        },
        calls, reinterpret_cast<const void*>(&add_gradients));
}

const AttentionLibrary& cudnn_library() {
    static const AttentionLibrary found =
        has_library()
            ? AttentionLibrary{.name = "emulated cuDNN"}
            : AttentionLibrary{.unusable_reason = "ZIGGURAT_EMULATED_CUDA_CUDNN=0: there is no cuDNN"};
    return found;
}

}  // namespace ziggurat::kernels::cuda
