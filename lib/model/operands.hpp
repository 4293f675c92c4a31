/// The operands of one op as typed tensors; only bind_*.cpp includes it.
#pragma once

#include <set>
#include <string>

#include "kernels/launch/step_inputs.hpp"
#include "kernels/launch/tensor_address.hpp"
#include "layout/families/family.hpp"
#include "layout/families/role.hpp"
#include "layout/host_workspaces.hpp"
#include "model/binder.hpp"
#include "schedule/step_program.hpp"
#include "schedule/sums_apart.hpp"

namespace ziggurat::model {

using kernels::TensorAddress;
using kernels::VectorAddress;
using layout::Role;

/// Finds operands by role and gives them shapes.
///
/// A missing operand is a bug; the error names the op and the role.
class Operands {
  public:
    Operands(const schedule::Program& program, const schedule::Op& op, const Arenas& arenas)
        : program_{program}, op_{op}, arenas_{arenas} {}

    const schedule::Op& op() const noexcept { return op_; }
    bool is_training() const noexcept { return program_.variant == schedule::Variant::train; }
    /// True if the program has so few tokens that its products read weights in place.
    bool has_few_rows() const noexcept {
        return cache().sequences > 0 && program_.cached.rows <= layout::HostWorkspaces::max_rows_in_place;
    }
    /// Returns the sizes of the KV cache of the program; 0 sequences if it does not use one.
    const layout::CacheSizes& cache() const noexcept { return program_.cached.cache; }
    bool reads(Role role) const { return program_.find_read(op_, role) != nullptr; }
    bool writes(Role role) const { return program_.find_write(op_, role) != nullptr; }

    /// True if the op adds to the operand that it reads, and writes the sum to another buffer.
    bool sums_apart(Role role) const { return schedule::sums_apart(program_, op_, role); }

    template <class E>
    VectorAddress<const E> in(Role role) {
        return typed<const E>(found(program_.find_read(op_, role), role));
    }
    template <class E>
    VectorAddress<E> out(Role role) {
        return typed<E>(found(program_.find_write(op_, role), role));
    }

    /// Rows of `width` elements each.
    template <class E>
    TensorAddress<const E, 2> matrix_in(Role role, std::int64_t width) {
        return in_rows(role, in<E>(role), width);
    }
    template <class E>
    TensorAddress<E, 2> matrix_out(Role role, std::int64_t width) {
        return in_rows(role, out<E>(role), width);
    }

    /// Returns the gradient of a parameter, in rows of `width`; empty if the parameter is frozen.
    TensorAddress<float, 2> gradient(Role role, std::int64_t width) {
        return writes(role) ? matrix_out<float>(role, width) : TensorAddress<float, 2>{};
    }
    VectorAddress<float> gradient(Role role) {
        return writes(role) ? out<float>(role) : VectorAddress<float>{};
    }

    /// Returns the step_inputs that the op reads, for its kernel.
    kernels::ObjectAddress<const kernels::StepInputs> step_inputs();
    /// Returns the op's scratch; empty if it has no scratch.
    VectorAddress<std::byte> workspace();
    kernels::Accumulate accumulate() const noexcept {
        return op_.accumulate ? kernels::Accumulate::yes : kernels::Accumulate::no;
    }
    /// Returns the dropout of `site` in layer `layer` over all positions of the sequences; disabled outside
    /// of training.
    kernels::Dropout dropout(const spec::RunSpec& spec, bool has_dropout, int layer, int site);

    /// Checks that the kernel has used every buffer that the op names, under at least one role.
    ///
    /// Errors: Error{internal} that names the operand which no kernel uses
    void check_all_taken() const;

  private:
    const schedule::Operand& found(const schedule::Operand* operand, Role role);
    /// \pre `operand` is one contiguous range
    std::byte* begin_of(const schedule::Operand& operand) const;
    void check_width(Role role, std::int64_t elements, std::int64_t width) const;

    template <class E>
    VectorAddress<E> typed(const schedule::Operand& operand) const {
        const auto bytes = operand.runs.front().bytes;
        return VectorAddress<E>::at(begin_of(operand), {bytes / static_cast<std::int64_t>(sizeof(E))});
    }
    template <class E>
    TensorAddress<E, 2> in_rows(Role role, VectorAddress<E> values, std::int64_t width) const {
        check_width(role, values.size(), width);
        return values.template reshaped<2>({values.size() / width, width});
    }

    const schedule::Program& program_;
    const schedule::Op& op_;
    const Arenas& arenas_;
    std::set<int> taken_;  ///< buffers that the kernel has used
};

/// Sites of dropout within a layer; part of the random numbers' key.
enum DropoutSite {
    dropout_embedding = 0,
    dropout_attention = 1,
    dropout_attention_branch = 2,
    dropout_mlp_branch = 3
};

/// Returns the shape of an attention op; with a KV cache, its rows are one sequence.
///
/// \param elements  number of elements of qkv on this rank
/// \param context   context ranks that divide the heads, or 1
template <class T>
kernels::AttentionShape attention_shape(const Binder<T>& binder,
                                        const Operands& operands,
                                        std::int64_t elements,
                                        int context);

// One file each: kernels of a kind of phase.
template <class T>
Kernel bind_norm(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_residual(Binder<T>& binder,
                     const layout::Unit& unit,
                     const layout::Phase& phase,
                     Operands& operands);
template <class T>
Kernel bind_row_sums(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& use);
template <class T>
Kernel bind_split_norm(Binder<T>& binder,
                       const layout::Unit& unit,
                       const layout::Phase& phase,
                       Operands& use);
template <class T>
Kernel bind_linear(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_attention(Binder<T>& binder,
                      const layout::Unit& unit,
                      const layout::Phase& phase,
                      Operands& operands);
/// True if the op only rearranges heads or positions around an all-to-all.
bool exchanges_heads(const Operands& operands);
template <class T>
Kernel bind_head_exchange(Binder<T>& binder, Operands& operands);
/// True if the op is a part of ring attention.
bool is_of_ring(const Operands& operands);
template <class T>
Kernel bind_ring_attention(Binder<T>& binder,
                           const layout::Unit& unit,
                           const layout::Phase& phase,
                           Operands& operands);
template <class T>
Kernel bind_head_norm(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_square_sum(Binder<T>& binder, Operands& operands);
template <class T>
Kernel bind_whole_norm(Binder<T>& binder, Operands& operands);
template <class T>
Kernel bind_rope(Binder<T>& binder, Operands& operands);
template <class T>
Kernel bind_activation(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_embedding(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_logits(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_loss(Binder<T>& binder, Operands& operands);
// bind_tiles.cpp and bind_head_tiles.cpp: a tile of output columns, which are rows of a weight.
template <class T>
Kernel bind_linear_tile(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_embedding_tile(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_logits_tile(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_loss_tile(Binder<T>& binder, Operands& operands);
template <class T>
Kernel bind_pairs(Binder<T>& binder, Operands& operands);

}  // namespace ziggurat::model
