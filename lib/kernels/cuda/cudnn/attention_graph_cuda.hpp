/// Graphs of attention's passes for cuDNN's frontend; only attention_cudnn_cuda.cpp includes it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/attention.hpp"
#include "kernels/cuda/cudnn/cudnn_graph_cuda.hpp"

namespace ziggurat::kernels::cuda {

/// Describes a forward or backward pass whose tensors have the layout of attention.hpp.
///
/// \param part  sequences and heads of one call: a piece of `whole`
class PassGraph {
  public:
    PassGraph(const AttentionShape& part, const AttentionShape& whole, const Target& target)
        : part_{part},
          qkv_row_{(whole.heads + 2 * whole.kv_heads) * whole.head_dim},
          out_row_{whole.heads * whole.head_dim},
          graph_{make_graph(target)} {}

    std::shared_ptr<Graph> forward() {
        auto attributes = common(fe::graph::SDPA_attributes{});
        attributes.set_generate_stats(true);
        auto [made, sums] = graph_->sdpa(graph_->tensor(heads(Uid::q, part_.heads, qkv_row_)),
                                         graph_->tensor(heads(Uid::k, part_.kv_heads, qkv_row_)),
                                         graph_->tensor(heads(Uid::v, part_.kv_heads, qkv_row_)), attributes);
        put(made, heads(Uid::out, part_.heads, out_row_));
        put(sums, rows());
        sums->set_data_type(fe::DataType_t::FLOAT);
        return graph_;
    }

    std::shared_ptr<Graph> backward() {
        auto attributes = common(fe::graph::SDPA_backward_attributes{});
        attributes.set_deterministic_algorithm(!part_.any_order);
        auto [dq, dk, dv] = graph_->sdpa_backward(graph_->tensor(heads(Uid::q, part_.heads, qkv_row_)),
                                                  graph_->tensor(heads(Uid::k, part_.kv_heads, qkv_row_)),
                                                  graph_->tensor(heads(Uid::v, part_.kv_heads, qkv_row_)),
                                                  graph_->tensor(heads(Uid::out, part_.heads, out_row_)),
                                                  graph_->tensor(heads(Uid::d_out, part_.heads, out_row_)),
                                                  graph_->tensor(rows()), attributes);
        put(dq, heads(Uid::d_q, part_.heads, qkv_row_));
        put(dk, heads(Uid::d_k, part_.kv_heads, qkv_row_));
        put(dv, heads(Uid::d_v, part_.kv_heads, qkv_row_));
        return graph_;
    }

  private:
    /// Ids of the tensors, in the order in which graphs receive their addresses.
    enum Uid : std::int64_t { q = 1, k, v, out, lse, d_out, d_q, d_k, d_v };

    template <class Attributes>
    Attributes common(Attributes attributes) const {
        attributes.set_attn_scale(part_.score_scale())
            .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
            .set_diagonal_band_right_bound(0);
        return attributes;
    }

    fe::graph::Tensor_attributes heads(Uid uid, std::int64_t count, std::int64_t row) const {
        return fe::graph::Tensor_attributes{}
            .set_uid(uid)
            .set_dim({part_.batch, count, part_.seq, part_.head_dim})
            .set_stride({part_.seq * row, part_.head_dim, row, 1});
    }
    fe::graph::Tensor_attributes rows() const {
        return fe::graph::Tensor_attributes{}
            .set_uid(Uid::lse)
            .set_data_type(fe::DataType_t::FLOAT)
            .set_dim({part_.batch, part_.heads, part_.seq, 1})
            .set_stride({part_.heads * part_.seq, part_.seq, 1, 1});
    }

    AttentionShape part_;
    std::int64_t qkv_row_, out_row_;
    std::shared_ptr<Graph> graph_;
};

/// Compiles a chosen pass and writes its workspace to `bytes`.
///
/// Returns an error message; empty on success.
inline std::string compile(Graph& graph, std::int64_t& bytes) {
    return refusal([&] {
        const auto status = graph.build_plans();
        return status.is_good() ? graph.get_workspace_size(bytes) : status;
    });
}

}  // namespace ziggurat::kernels::cuda
