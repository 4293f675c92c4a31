/// Kernels with their operands bound: the compute ops of the step program.
///
/// The program states which bytes an op reads and writes and the role of each operand (input, weight,
/// d_output). A binder translates this, once, into a call of a kernel of `kernels` with typed, shaped
/// tensors. Phases are bound by kind, so a new family needs code here only if it adds a new kind of phase.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "device/stream.hpp"
#include "kernels/attention.hpp"
#include "kernels/glu/glu_product.hpp"
#include "kernels/launch/step_inputs.hpp"
#include "kernels/linear.hpp"
#include "layout/context/context_rows.hpp"
#include "layout/families/family.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::model {

class Operands;

/// A bound op. Calling it runs the kernel and allocates no memory.
using Kernel = std::function<void()>;

/// The first addresses of the arenas, indexed by schedule::arena_of.
using Arenas = std::array<std::byte*, schedule::num_arenas>;

/// The bound products with the gradient of a gated unit.
struct GluOps {
    int num_ops = 0;
    int num_fused = 0;         ///< those that cuDNN can compute in one kernel
    std::string refusal = {};  ///< why it cannot compute one of the others
};

/// Binds the ops of one or several programs of one model on one rank.
///
/// Owns objects that several kernels share (prepared products), so it must outlive all kernels. T is the
/// compute type, float or tensor::bfloat16.
template <class T>
class Binder {
  public:
    /// \param position      of the rank that runs the ops, in its tensor group
    /// \param context_rank  the same on the context axis
    Binder(const spec::RunSpec& spec,
           const layout::FamilyTable& table,
           layout::TensorPosition position,
           int context_rank,
           const device::Stream& stream);

    /// Binds `op`, which is of kind compute or loss. `program` has to live only during the call.
    ///
    /// Errors: Error{internal} if an operand that the kernel needs is missing or has a wrong size, or if no
    /// kernel uses it
    Kernel bind(const schedule::Program& program, const schedule::Op& op, const Arenas& arenas);

    const spec::RunSpec& spec() const noexcept { return spec_; }
    const device::Stream& stream() const noexcept { return stream_; }
    /// Returns this rank's first row or head if `total` of them are sharded evenly over the tensor axis.
    ///
    /// In a cube, heads and logits are parts of turned values, so they are sharded over its rows.
    std::int64_t first_of_slice(std::int64_t total) const noexcept {
        return total / spec_.parallel.tensor * (spec_.parallel.has_cube() ? position_.row : position_.rank);
    }

    /// Returns the elements of a token of the residual stream that this rank has.
    std::int64_t stream_width() const noexcept {
        return spec_.parallel.has_grid() ? spec_.model.hidden / spec_.parallel.tensor : spec_.model.hidden;
    }

    /// Returns the dropout of `site` in layer `layer` (-1: the embedding) for an op whose rows are tokens.
    ///
    /// \param first_row  first row of this rank's micro-batch that the op processes
    kernels::Dropout dropout(
        Operands& use, bool has_dropout, int layer, int site, std::int64_t first_row = 0) const;

    /// Returns the context ranks that exchange heads for positions in the attention of a program.
    int context_of_heads(const Operands& use) const;
    int context_rank() const noexcept { return context_rank_; }
    /// Returns the order of a micro-batch's rows that are gathered from the context ranks.
    layout::GatheredRows gathered_rows() const {
        return layout::gathered_rows(spec_.parallel, context_rank_, spec_.train.micro_batch, spec_.data.seq);
    }

    /// Returns the constant factor of the token table's rows.
    float embedding_factor() const;

    /// Returns the number of bound attention ops for each kernel.
    const kernels::AttentionOps& attention_ops() const noexcept { return attention_ops_; }
    void count_attention(kernels::AttentionKernel kernel) { ++attention_ops_[kernel]; }

    /// Returns the product of that shape, prepared once.
    const kernels::Linear<T>& linear(const kernels::LinearShape& shape);
    /// Returns the product with the gradient of a gated unit, prepared once, and counts its op.
    const kernels::GluProduct& glu_product(const kernels::GluProductShape& shape);
    const GluOps& glu_ops() const noexcept { return glu_ops_; }
    const layout::Unit& unit_of(const schedule::Op& op) const { return table_.units[op.unit]; }

  private:
    const spec::RunSpec& spec_;
    const layout::FamilyTable& table_;
    layout::TensorPosition position_;
    int context_rank_;
    device::Stream stream_;
    kernels::AttentionOps attention_ops_{};
    std::map<kernels::LinearShape, kernels::Linear<T>> linears_;
    GluOps glu_ops_;
    std::map<kernels::GluProductShape, kernels::GluProduct> glu_products_;
};

}  // namespace ziggurat::model
