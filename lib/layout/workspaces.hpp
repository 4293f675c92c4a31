/// Bytes that kernels need beside their operands, as schedules and plans ask for them: without a device.
#pragma once

#include <cstdint>
#include <memory>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// One call of attention: `heads` query heads share `kv_heads` heads of keys and values.
struct AttentionSizes {
    std::int64_t batch, seq, heads, kv_heads, head_dim;
};

/// Of one micro-batch on one rank.
AttentionSizes attention_sizes(const spec::RunSpec& run);

/// Bytes of scratch that the kernels of one backend use in the compute type of a run.
///
/// Arenas hold as much as is said here, and kernels refuse less. A backend answers in a class of its own,
/// which its kernels use as well; a member that it does not answer does not compile.
class Workspaces {
  public:
    Workspaces() = default;
    virtual ~Workspaces() = default;
    Workspaces(const Workspaces&) = delete;
    Workspaces& operator=(const Workspaces&) = delete;

    /// Of one product y[rows, out] = x[rows, in] w[out, in]^T and of its two backward products.
    virtual std::int64_t linear(std::int64_t rows, std::int64_t in, std::int64_t out) const = 0;
    /// The same for a product of which the weight is packed already, and for the weight's gradient.
    virtual std::int64_t packed_linear(std::int64_t rows, std::int64_t in, std::int64_t out) const = 0;
    /// Of the weight [out, in], packed for one of its products; 0 where products read it as it lies, and
    /// nothing is ever packed.
    virtual std::int64_t packed_weight(std::int64_t in, std::int64_t out) const = 0;
    virtual std::int64_t attention_forward(const AttentionSizes& of) const = 0;
    virtual std::int64_t attention_backward(const AttentionSizes& of) const = 0;
    /// Of column sums over a matrix of `width` columns: gradients of norm gains and of biases.
    virtual std::int64_t column_sum(std::int64_t width) const = 0;
    /// Rows of logits of `columns` columns that exist at a time: the head computes its tokens in blocks of so
    /// many rows. It depends on shapes alone, because the order of sums of the head's gradient follows it.
    virtual std::int64_t logits_rows(std::int64_t columns) const = 0;
    /// In no arena: what libraries keep of a rank's device for themselves.
    virtual std::int64_t libraries() const = 0;
};

/// Those of the backend that computes `run`. \param trains  false: of validation, which drops nothing
std::unique_ptr<Workspaces> make_workspaces(const spec::RunSpec& run, bool trains);

}  // namespace ziggurat::layout
