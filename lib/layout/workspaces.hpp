/// Scratch bytes that kernels need in addition to their operands, computed without a device.
#pragma once

#include <cstdint>
#include <memory>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// One call of attention: `heads` query heads share `kv_heads` heads of keys and values.
struct AttentionSizes {
    std::int64_t batch, seq, heads, kv_heads, head_dim;
    bool any_order = false;  ///< backward may add in any order (precision.attention_backward: fast)
};

/// Returns the sizes for one micro-batch on one rank; with a ring, of one block of queries and keys.
AttentionSizes attention_sizes(const spec::RunSpec& run);

/// Bytes of scratch that the kernels of one backend use in the compute type of a run.
///
/// Arenas reserve these bytes, and kernels reject workspaces that are smaller. Each backend has its own
/// derived class, which its kernels use too. A missing member does not compile.
class Workspaces {
  public:
    Workspaces() = default;
    virtual ~Workspaces() = default;
    Workspaces(const Workspaces&) = delete;
    Workspaces& operator=(const Workspaces&) = delete;

    /// Returns the scratch of a product and its two backward products.
    ///
    /// The product is y[rows, out] = x[rows, in] w[out, in]^T.
    virtual std::int64_t linear(std::int64_t rows, std::int64_t in, std::int64_t out) const = 0;
    /// Returns the same for a product with a packed weight, and for the weight's gradient.
    virtual std::int64_t packed_linear(std::int64_t rows, std::int64_t in, std::int64_t out) const = 0;
    /// Returns the size of the weight [out, in], packed for one of its products.
    ///
    /// 0 if products read weights in place and never pack them.
    virtual std::int64_t packed_weight(std::int64_t in, std::int64_t out) const = 0;
    virtual std::int64_t attention_forward(const AttentionSizes& of) const = 0;
    virtual std::int64_t attention_backward(const AttentionSizes& of) const = 0;
    /// Returns the scratch of attention to a KV cache; `of.seq` is the number of rows.
    virtual std::int64_t cached_attention(const AttentionSizes& of) const = 0;
    /// Returns the scratch of column sums over `width` columns: gradients of norm gains and of biases.
    virtual std::int64_t column_sum(std::int64_t width) const = 0;
    /// Returns the number of rows of a block of logits with `columns` columns.
    ///
    /// The head computes its tokens in such blocks. The number depends only on shapes, because it determines
    /// the order of sums of the head's gradient.
    virtual std::int64_t logits_rows(std::int64_t columns) const = 0;
    /// Returns the device memory of a rank that libraries allocate for themselves, outside of all arenas.
    virtual std::int64_t libraries() const = 0;
};

/// Returns the workspaces of the backend of `run`.
///
/// \param trains  false: validation, without dropout
/// \param window  of attention, in the run's sequences (layout::window_in_run); 0: none
std::unique_ptr<Workspaces> make_workspaces(const spec::RunSpec& run, bool trains, std::int64_t window = 0);

}  // namespace ziggurat::layout
