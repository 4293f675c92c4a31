#include "kernels/cuda/cudnn/attention_cudnn_cuda.hpp"

#include <array>
#include <map>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "kernels/cuda/cudnn/attention_graph_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using layout::CudaWorkspaces;

layout::AttentionSizes sizes_of(const AttentionShape& shape) {
    return {shape.batch, shape.seq, shape.heads, shape.kv_heads, shape.head_dim, shape.any_order};
}

/// Returns the shape of one piece of the backward pass of `whole`.
AttentionShape part_of(const AttentionShape& whole, const CudaWorkspaces::AttentionPiece& piece) {
    auto part = whole;
    part.batch = piece.sequences;
    part.kv_heads = piece.kv_heads;
    part.heads = piece.kv_heads * (whole.heads / whole.kv_heads);
    return part;
}

/// Graphs of both passes, and cuDNN's support of them.
struct BothPasses {
    BothPasses(const AttentionShape& shape, const Target& target, bool compiles) {
        const auto piece = CudaWorkspaces::attention_piece(sizes_of(shape));
        if (!piece) {
            answer.refusal = "Ziggurat's kernels compute this shape";
            return;
        }
        part = part_of(shape, *piece);
        forward = PassGraph{shape, shape, target}.forward();
        backward = PassGraph{part, shape, target}.backward();
        auto& refusal_text = answer.refusal;
        refusal_text = choose(*forward, target, {fe::HeurMode_t::A}, false);
        if (refusal_text.empty()) {
            refusal_text = choose(*backward, target, {fe::HeurMode_t::A}, shape.any_order);
        }
        if (compiles && refusal_text.empty()) {
            refusal_text = compile(*forward, answer.forward_bytes);
        }
        if (compiles && refusal_text.empty()) {
            refusal_text = compile(*backward, answer.backward_bytes);
        }
    }

    AttentionShape part{};  ///< the part that one backward call computes
    std::shared_ptr<Graph> forward, backward;
    CudnnAnswer answer;
};

std::byte* aligned(std::span<std::byte> workspace, std::int64_t bytes) {
    constexpr auto alignment = static_cast<std::uintptr_t>(CudaWorkspaces::alignment);
    const auto before =
        (alignment - reinterpret_cast<std::uintptr_t>(workspace.data()) % alignment) % alignment;
    ZG_EXPECTS(static_cast<std::int64_t>(before) + bytes <= std::ssize(workspace));
    return workspace.data() + before;
}

template <std::size_t count>
void run(Graph& graph, cudnnHandle_t handle, std::array<const void*, count> tensors, std::byte* workspace) {
    std::array<void*, count> addresses{};
    for (std::size_t i = 0; i < count; ++i) {
        addresses[i] = const_cast<void*>(tensors[i]);
    }
    check_run(graph.execute(handle, addresses.data(), static_cast<int>(count), workspace),
              "compute attention");
}

}  // namespace

struct CudnnAttention::Plan : BothPasses {
    using BothPasses::BothPasses;
    bool is_usable = false;
    mutable bool is_forward_loaded = false, is_backward_loaded = false;  ///< a call has run in Stream::load()
};

struct CudnnAttention::Gpu {
    CudnnHandle handle;
    /// By the sizes of a call, its order of sums and the scale of its scores, which a graph contains.
    std::map<std::pair<std::array<std::int64_t, 6>, float>, std::unique_ptr<Plan>> plans;
};

CudnnAttention::CudnnAttention() {
    if (cudnn_library().unusable_reason.empty()) {
        gpu_ = std::make_unique<Gpu>();
    }
}

CudnnAttention::~CudnnAttention() = default;

const CudnnAttention::Plan* CudnnAttention::plan_of(const AttentionShape& shape) {
    if (gpu_ == nullptr) {
        return nullptr;
    }
    const std::array<std::int64_t, 6> sizes{shape.batch,    shape.seq,      shape.heads,
                                            shape.kv_heads, shape.head_dim, shape.any_order ? 1 : 0};
    auto& plan = gpu_->plans[{sizes, shape.score_scale()}];
    if (plan == nullptr) {
        plan = std::make_unique<Plan>(shape, gpu_->handle.target(), true);
        const auto& answer = plan->answer;
        plan->is_usable = answer.refusal.empty() &&
                          answer.forward_bytes <= CudaWorkspaces::attention_forward_bytes &&
                          answer.backward_bytes <= CudaWorkspaces::attention_gradients(sizes_of(plan->part));
    }
    return plan->is_usable ? plan.get() : nullptr;
}

bool CudnnAttention::has(const AttentionShape& shape) {
    return plan_of(shape) != nullptr;
}

void CudnnAttention::forward(const device::Stream& stream,
                             const AttentionShape& shape,
                             const bfloat16* qkv,
                             bfloat16* out,
                             float* lse,
                             std::span<std::byte> workspace) {
    const auto* plan = plan_of(shape);
    ZG_EXPECTS(plan != nullptr);
    if (device::cuda::is_loading() && std::exchange(plan->is_forward_loaded, true)) {
        return;
    }
    const auto* k = qkv + shape.heads * shape.head_dim;
    const auto* v = k + shape.kv_heads * shape.head_dim;
    run<5>(*plan->forward, gpu_->handle.on(stream), {qkv, k, v, out, lse},
           aligned(workspace, plan->answer.forward_bytes));
}

void CudnnAttention::backward(const device::Stream& stream,
                              const AttentionShape& shape,
                              const bfloat16* qkv,
                              const bfloat16* out,
                              const bfloat16* d_out,
                              const float* lse,
                              bfloat16* d_qkv,
                              std::span<std::byte> workspace) {
    const auto* plan = plan_of(shape);
    ZG_EXPECTS(plan != nullptr);
    if (device::cuda::is_loading() && std::exchange(plan->is_backward_loaded, true)) {
        return;
    }
    auto* const handle = gpu_->handle.on(stream);
    auto* const scratch = aligned(workspace, plan->answer.backward_bytes);
    const auto& part = plan->part;
    const auto group = shape.heads / shape.kv_heads;
    const auto qkv_row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
    for (std::int64_t b = 0; b < shape.batch; b += part.batch) {
        for (std::int64_t h = 0; h < shape.kv_heads; h += part.kv_heads) {
            const auto q_at = b * shape.seq * qkv_row + h * group * shape.head_dim;
            const auto k_at = b * shape.seq * qkv_row + (shape.heads + h) * shape.head_dim;
            const auto v_at = k_at + shape.kv_heads * shape.head_dim;
            const auto out_at = (b * shape.seq * shape.heads + h * group) * shape.head_dim;
            run<9>(*plan->backward, handle,
                   {qkv + q_at, qkv + k_at, qkv + v_at, out + out_at,
                    lse + (b * shape.heads + h * group) * shape.seq, d_out + out_at, d_qkv + q_at,
                    d_qkv + k_at, d_qkv + v_at},
                   scratch);
        }
    }
}

CudnnAnswer ask_cudnn(const AttentionShape& shape, const DescribedGpu& gpu, bool compiles) {
    Target target;
    if (const auto reason = describe_target(gpu, target); !reason.empty()) {
        return {.refusal = reason};
    }
    return BothPasses{shape, target, compiles}.answer;
}

}  // namespace ziggurat::kernels::cuda
