/// Kernels with their operands bound: what compute ops of the step program do.
///
/// The program says which bytes an op reads and writes and what part each plays (input,
/// weight, d_output); a binder turns that, once, into a call of a kernel of `kernels` with typed, shaped
/// tensors. Phases are bound by kind, so a new family needs no code here unless it brings a new kind of
/// phase.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>

#include "device/stream.hpp"
#include "kernels/attention.hpp"
#include "kernels/linear.hpp"
#include "kernels/step_inputs.hpp"
#include "layout/family.hpp"
#include "schedule/step_program.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::model {

/// A bound op. Calling it computes and allocates nothing.
using Kernel = std::function<void()>;

/// Where the arenas begin, indexed by schedule::arena_of.
using Arenas = std::array<std::byte*, schedule::num_arenas>;

/// Binds the ops of one or several programs of one model on one rank.
///
/// Owns what several kernels share (prepared products), so it must outlive all of them.
/// T is the compute type, float or tensor::bfloat16.
template <class T>
class Binder {
  public:
    /// \param tensor_rank  coordinate on the tensor axis of the rank whose ops are bound
    Binder(const spec::RunSpec& spec,
           const layout::FamilyTable& table,
           int tensor_rank,
           const device::Stream& stream);

    /// `op` is of kind compute or loss. `program` must outlive the call only.
    /// Errors: Error{internal} when an operand that the kernel needs is missing or of another size, or when
    /// no kernel takes one
    Kernel bind(const schedule::Program& program, const schedule::Op& op, const Arenas& arenas);

    const spec::RunSpec& spec() const noexcept { return spec_; }
    const device::Stream& stream() const noexcept { return stream_; }
    /// Of `total` rows or heads that are cut evenly over the tensor axis: the first one of this rank.
    std::int64_t first_of_slice(std::int64_t total) const noexcept {
        return total / spec_.parallel.tensor * tensor_rank_;
    }

    /// The attention ops that were bound, by the kernel that serves them.
    const kernels::AttentionOps& attention_ops() const noexcept { return attention_ops_; }
    void count_attention(kernels::AttentionKernel kernel) {
        ++attention_ops_[static_cast<std::size_t>(kernel)];
    }

    /// The product of that shape, prepared once.
    const kernels::Linear<T>& linear(const kernels::LinearShape& shape);

  private:
    const spec::RunSpec& spec_;
    const layout::FamilyTable& table_;
    int tensor_rank_;
    device::Stream stream_;
    kernels::AttentionOps attention_ops_{};
    std::map<kernels::LinearShape, kernels::Linear<T>> linears_;
};

}  // namespace ziggurat::model
