#include "kernels/cuda/cudnn/glu_cudnn_cuda.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/contract.hpp"
#include "kernels/cuda/cudnn/cudnn_graph_cuda.hpp"

namespace ziggurat::kernels::cuda {
namespace {

using Value = std::shared_ptr<fe::graph::Tensor_attributes>;
using Mode = fe::PointwiseMode_t;

/// Ids of the tensors.
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
struct Ways {
    Ways(const GluProductShape& shape, const Target& target) : graph{GluGraph{shape, target}.make()} {
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
    std::map<GluProductShape, Ways> shapes;
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
    auto& ways = gpu_->shapes.try_emplace(shape, shape, gpu_->handle.target()).first->second;
    ways.compile(wanted, max_workspace_bytes);
    return static_cast<int>(std::ssize(ways.plans));
}

std::string CudnnGlu::refusal(const GluProductShape& shape) const {
    return gpu_ == nullptr ? cudnn_library().unusable_reason : gpu_->shapes.at(shape).refusal_text;
}

std::int64_t CudnnGlu::workspace_bytes(const GluProductShape& shape) const {
    return gpu_ == nullptr ? 0 : gpu_->shapes.at(shape).workspace_bytes;
}

void CudnnGlu::run(const device::Stream& stream,
                   const GluProductShape& shape,
                   int way,
                   const GluOperands& operands,
                   void* workspace) {
    ZG_EXPECTS(gpu_ != nullptr);
    const auto& ways = gpu_->shapes.at(shape);
    const auto address = [](const tensor::bfloat16* first) {
        return static_cast<void*>(const_cast<tensor::bfloat16*>(first));
    };
    std::unordered_map<std::int64_t, void*> addresses{
        {Uid::dy, address(operands.dy)},     {Uid::w, address(operands.w)},
        {Uid::gate, address(operands.x)},    {Uid::up, address(operands.x + shape.width)},
        {Uid::d_gate, address(operands.dx)}, {Uid::d_up, address(operands.dx + shape.width)}};
    if (shape.with_output) {
        addresses[Uid::active] = address(operands.active);
    }
    check_run(ways.graph->execute_plan_at_index(gpu_->handle.on(stream), addresses, workspace,
                                                ways.plans.at(static_cast<std::size_t>(way))),
              "multiply with the gradient of a gated unit");
}

GluAnswer ask_cudnn(const GluProductShape& shape, const DescribedGpu& gpu) {
    Target target;
    if (const auto reason = describe_target(gpu, target); !reason.empty()) {
        return {.refusal = reason};
    }
    Ways ways{shape, target};
    ways.compile(CudnnGlu::max_ways, std::numeric_limits<std::int64_t>::max());
    return {ways.refusal_text, static_cast<int>(std::ssize(ways.plans)), ways.workspace_bytes};
}

}  // namespace ziggurat::kernels::cuda
