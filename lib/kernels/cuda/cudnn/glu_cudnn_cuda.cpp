#include "kernels/cuda/cudnn/glu_cudnn_cuda.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

#include "base/contract.hpp"
#include "kernels/cuda/cudnn/cudnn_graph_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using Value = std::shared_ptr<fe::graph::Tensor_attributes>;
using Mode = fe::PointwiseMode_t;

/// Ids of the tensors, in the order in which graphs receive their addresses.
enum Uid : std::int64_t { dy = 1, w, gate, up, d_gate, d_up, active };

/// Describes the product and the gradient of the gated unit.
class GluGraph {
  public:
    GluGraph(const GluProductShape& shape, const Target& target)
        : shape_{shape}, graph_{make_graph(target)} {}

    std::shared_ptr<Graph> make() {
        const bool is_geglu = shape_.unit == GatedUnit::geglu;
        const auto activation = is_geglu ? Mode::GELU_APPROX_TANH_FWD : Mode::SWISH_FWD;
        const auto gradient = is_geglu ? Mode::GELU_APPROX_TANH_BWD : Mode::SWISH_BWD;
        const auto [rows, width, out, unit, with_output] = shape_;
        const auto d_active =
            graph_->matmul(graph_->tensor(matrix(Uid::dy, rows, out, out)),
                           graph_->tensor(matrix(Uid::w, out, width, width)), fe::graph::Matmul_attributes{});
        const auto gates = graph_->tensor(half(Uid::gate)), ups = graph_->tensor(half(Uid::up));
        const auto activated =
            graph_->pointwise(gates, fe::graph::Pointwise_attributes{}.set_mode(activation));
        put(apply(d_active, activated, Mode::MUL), half(Uid::d_up));
        put(apply(apply(d_active, ups, Mode::MUL), gates, gradient), half(Uid::d_gate));
        if (with_output) {
            put(apply(activated, ups, Mode::MUL), matrix(Uid::active, rows, width, width));
        }
        return graph_;
    }

  private:
    static fe::graph::Tensor_attributes matrix(Uid uid,
                                               std::int64_t rows,
                                               std::int64_t columns,
                                               std::int64_t row_stride) {
        return fe::graph::Tensor_attributes{}
            .set_uid(uid)
            .set_dim({1, rows, columns})
            .set_stride({rows * row_stride, row_stride, 1});
    }
    /// The gates or the ups of x, or their gradients.
    fe::graph::Tensor_attributes half(Uid uid) const {
        return matrix(uid, shape_.rows, shape_.width, 2 * shape_.width);
    }
    Value apply(const Value& first, const Value& second, Mode mode) {
        return graph_->pointwise(first, second, fe::graph::Pointwise_attributes{}.set_mode(mode));
    }

    GluProductShape shape_;
    std::shared_ptr<Graph> graph_;
};

/// The compiled kernels of a shape.
struct Kernels {
    Kernels(const GluProductShape& shape, const Target& target) : graph{GluGraph{shape, target}.make()} {
        // The first mode may name only kernels with the instructions of older GPUs.
        refusal_text = choose(*graph, target, {fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}, false);
    }

    /// Compiles more kernels until there are `wanted`, or no more.
    void compile(int wanted, std::int64_t max_bytes) {
        for (; refusal_text.empty() && std::ssize(plans) < wanted && next < graph->get_execution_plan_count();
             ++next) {
            std::int64_t bytes = 0;
            const auto reason = refusal([&] {
                const auto status = graph->build_plan_at_index(next);
                return status.is_good() ? graph->get_workspace_size_plan_at_index(next, bytes) : status;
            });
            if (reason.empty() && bytes <= max_bytes) {
                plans.push_back(next);
                workspace_bytes = std::max(workspace_bytes, bytes);
            } else {
                last_reason = reason.empty() ? "its workspace is too large" : reason;
            }
        }
        if (plans.empty() && refusal_text.empty()) {
            refusal_text = last_reason.empty() ? "no engine" : last_reason;
        }
    }

    std::shared_ptr<Graph> graph;
    std::string refusal_text, last_reason;
    std::vector<std::int64_t> plans;  ///< cuDNN's numbers of the kernels
    std::int64_t next = 0;            ///< the first plan that was not tried
    std::int64_t workspace_bytes = 0;
};

}  // namespace

struct CudnnGlu::Gpu {
    CudnnHandle handle;
    std::map<GluProductShape, Kernels> shapes;
};

CudnnGlu::CudnnGlu() {
    if (cudnn_library().unusable_reason.empty()) {
        gpu_ = std::make_unique<Gpu>();
    }
}

CudnnGlu::~CudnnGlu() = default;

int CudnnGlu::prepare(const GluProductShape& shape, int wanted, std::int64_t max_workspace_bytes) {
    if (gpu_ == nullptr) {
        return 0;
    }
    auto& kernels = gpu_->shapes.try_emplace(shape, shape, gpu_->handle.target()).first->second;
    kernels.compile(wanted, max_workspace_bytes);
    return static_cast<int>(std::ssize(kernels.plans));
}

std::string CudnnGlu::refusal(const GluProductShape& shape) const {
    return gpu_ == nullptr ? cudnn_library().unusable_reason : gpu_->shapes.at(shape).refusal_text;
}

std::int64_t CudnnGlu::workspace_bytes(const GluProductShape& shape) const {
    return gpu_ == nullptr ? 0 : gpu_->shapes.at(shape).workspace_bytes;
}

void CudnnGlu::run(const device::Stream& stream,
                   const GluProductShape& shape,
                   int kernel,
                   const GluOperands& operands,
                   void* workspace) {
    ZG_EXPECTS(gpu_ != nullptr);
    const auto& kernels = gpu_->shapes.at(shape);
    const auto address = [](const tensor::bfloat16* first) {
        return static_cast<void*>(const_cast<tensor::bfloat16*>(first));
    };
    // In the order of their ids.
    std::array<void*, 7> addresses{address(operands.dy),    address(operands.w),
                                   address(operands.x),     address(operands.x + shape.width),
                                   address(operands.dx),    address(operands.dx + shape.width),
                                   address(operands.active)};
    const int count = shape.with_output ? 7 : 6;
    check_run(
        kernels.graph->execute_plan_at_index(gpu_->handle.on(stream), addresses.data(), count, workspace,
                                             kernels.plans.at(static_cast<std::size_t>(kernel))),
        "multiply with the gradient of a gated unit");
}

GluAnswer ask_cudnn(const GluProductShape& shape, const DescribedGpu& gpu) {
    Target target;
    if (const auto reason = describe_target(gpu, target); !reason.empty()) {
        return {.refusal = reason};
    }
    Kernels kernels{shape, target};
    kernels.compile(CudnnGlu::max_kernels, std::numeric_limits<std::int64_t>::max());
    return {kernels.refusal_text, static_cast<int>(std::ssize(kernels.plans)), kernels.workspace_bytes};
}

}  // namespace ziggurat::kernels::cuda
