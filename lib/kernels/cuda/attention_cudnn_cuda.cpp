#include "kernels/cuda/attention_cudnn_cuda.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>
#include <map>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "device/cuda/error_cuda.hpp"
#include "device/cuda/queue_cuda.hpp"
#include "kernels/cuda/attention_graph_cuda.hpp"
#include "layout/cuda_workspaces.hpp"

// The frontend calls the library through this handle, which the application must define.
void* cudnn_frontend::cudnn_dlhandle = nullptr;

namespace ziggurat::kernels::cuda {
namespace {

using layout::CudaWorkspaces;

/// Oldest version with deterministic backward for grouped heads in the frontend.
constexpr std::size_t oldest_version = 90600;

AttentionLibrary open_library() {
    const auto file = "libcudnn.so." + std::to_string(CUDNN_MAJOR);
    fe::cudnn_dlhandle = dlopen(file.c_str(), RTLD_NOW);
    if (fe::cudnn_dlhandle == nullptr) {
        return {.unusable_reason = file + " cannot be opened (" + dlerror() + ")"};
    }
    const auto version = fe::detail::get_backend_version();
    const auto name = "cuDNN " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
                      "." + std::to_string(version % 100);
    return {.name = name, .unusable_reason = version < oldest_version ? name + " is older than 9.6" : ""};
}

/// Opens the library once per process, because the frontend's handle is global.
const AttentionLibrary& library() {
    static const AttentionLibrary opened = open_library();
    return opened;
}

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
        refusal_text = choose(*forward, target, false);
        if (refusal_text.empty()) {
            refusal_text = choose(*backward, target, shape.any_order);
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
    const auto refusal_text = graph.execute(handle, addresses.data(), static_cast<int>(count), workspace);
    if (refusal_text.is_bad()) {
        // Throws the error of CUDA if there is one, because it is more precise.
        device::cuda::check(cudaGetLastError(), "compute attention");
        throw Error{ErrorKind::internal, "cannot compute attention (cuDNN: " + refusal_text.err_msg + ")."};
    }
}

}  // namespace

struct CudnnAttention::Plan : BothPasses {
    using BothPasses::BothPasses;
    bool is_usable = false;
    mutable bool is_forward_loaded = false, is_backward_loaded = false;  ///< a call has run in Stream::load()
};

struct CudnnAttention::Gpu {
    ~Gpu() { fe::detail::destroy_handle(handle); }

    void use(cudaStream_t stream) {
        if (!has_stream || stream != of_handle) {
            const auto status = fe::detail::set_stream(handle, stream);
            ZG_EXPECTS(status == CUDNN_STATUS_SUCCESS);
            of_handle = stream;
            has_stream = true;
        }
    }

    cudnnHandle_t handle = nullptr;
    int capability = 0;
    bool has_stream = false;
    cudaStream_t of_handle = nullptr;
    /// By the sizes of a call, its order of sums and the scale of its scores, which a graph contains.
    std::map<std::pair<std::array<std::int64_t, 6>, float>, std::unique_ptr<Plan>> plans = {};
};

CudnnAttention::CudnnAttention() {
    if (!library().unusable_reason.empty()) {
        return;
    }
    auto gpu = std::make_unique<Gpu>();
    int device = 0, major = 0, minor = 0;
    device::cuda::check(cudaGetDevice(&device), "find the GPU of attention");
    device::cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                        "query the properties of a GPU");
    device::cuda::check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
                        "query the properties of a GPU");
    gpu->capability = 10 * major + minor;
    const auto status = fe::detail::create_handle(&gpu->handle);
    if (status != CUDNN_STATUS_SUCCESS) {
        throw Error{ErrorKind::resource,
                    std::string{"cannot start cuDNN ("} + fe::detail::get_error_string(status) + ")."};
    }
    gpu_ = std::move(gpu);
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
        plan = std::make_unique<Plan>(shape, Target{.handle = gpu_->handle, .capability = gpu_->capability},
                                      true);
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
    gpu_->use(device::cuda::handle_of(stream));
    const auto* k = qkv + shape.heads * shape.head_dim;
    const auto* v = k + shape.kv_heads * shape.head_dim;
    run<5>(*plan->forward, gpu_->handle, {qkv, k, v, out, lse},
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
    gpu_->use(device::cuda::handle_of(stream));
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
            run<9>(*plan->backward, gpu_->handle,
                   {qkv + q_at, qkv + k_at, qkv + v_at, out + out_at,
                    lse + (b * shape.heads + h * group) * shape.seq, d_out + out_at, d_qkv + q_at,
                    d_qkv + k_at, d_qkv + v_at},
                   scratch);
        }
    }
}

CudnnAnswer ask_cudnn(const AttentionShape& shape, const DescribedGpu& gpu, bool compiles) {
    if (!library().unusable_reason.empty()) {
        throw Error{ErrorKind::resource, library().unusable_reason + "."};
    }
    auto properties = std::make_shared<fe::DeviceProperties>();
    const auto refusal_text = properties->deserialize({gpu.properties.begin(), gpu.properties.end()});
    if (refusal_text.is_bad()) {
        return {.refusal = refusal_text.err_msg};
    }
    return BothPasses{shape, {.properties = properties, .capability = gpu.capability}, compiles}.answer;
}

AttentionLibrary cudnn_library() {
    return library();
}

}  // namespace ziggurat::kernels::cuda
