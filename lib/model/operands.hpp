/// The operands of one op as typed tensors; only bind_*.cpp includes it.
#pragma once

#include <set>
#include <span>
#include <string>

#include "device/elements.hpp"
#include "kernels/step_inputs.hpp"
#include "layout/family.hpp"
#include "layout/role.hpp"
#include "model/binder.hpp"
#include "schedule/step_program.hpp"
#include "tensor/tensor_ref.hpp"

namespace ziggurat::model {

using layout::Role;

/// Looks operands up by role and gives them shapes; a missing one is a bug that names the op and the role.
class Operands {
  public:
    Operands(const schedule::Program& program, const schedule::Op& op, const Arenas& arenas)
        : program_{program}, op_{op}, arenas_{arenas} {}

    const schedule::Op& op() const noexcept { return op_; }
    bool is_training() const noexcept { return program_.variant == schedule::Variant::train; }
    bool reads(Role role) const { return program_.find_read(op_, role) != nullptr; }
    bool writes(Role role) const { return program_.find_write(op_, role) != nullptr; }

    template <class E>
    std::span<const E> in(Role role) {
        return typed<const E>(found(program_.find_read(op_, role), role));
    }
    template <class E>
    std::span<E> out(Role role) {
        return typed<E>(found(program_.find_write(op_, role), role));
    }

    template <class E>
    tensor::TensorRef<const E, 1> vector_in(Role role) {
        const auto data = in<E>(role);
        return {data.data(), {std::ssize(data)}};
    }
    template <class E>
    tensor::TensorRef<E, 1> vector_out(Role role) {
        const auto data = out<E>(role);
        return {data.data(), {std::ssize(data)}};
    }
    /// Rows of `width` elements each.
    template <class E>
    tensor::TensorRef<const E, 2> matrix_in(Role role, std::int64_t width) {
        const auto data = in<E>(role);
        check_width(role, std::ssize(data), width);
        return {data.data(), {std::ssize(data) / width, width}};
    }
    template <class E>
    tensor::TensorRef<E, 2> matrix_out(Role role, std::int64_t width) {
        const auto data = out<E>(role);
        check_width(role, std::ssize(data), width);
        return {data.data(), {std::ssize(data) / width, width}};
    }

    /// The gradient of a parameter, in rows of `width`; empty where it is frozen.
    tensor::TensorRef<float, 2> gradient(Role role, std::int64_t width) {
        return writes(role) ? matrix_out<float>(role, width) : tensor::TensorRef<float, 2>{};
    }
    tensor::TensorRef<float, 1> gradient(Role role) {
        return writes(role) ? vector_out<float>(role) : tensor::TensorRef<float, 1>{};
    }

    /// The step_inputs that the op reads, for its kernel.
    const kernels::StepInputs* step_inputs();
    /// The op's scratch; empty when it has none.
    std::span<std::byte> workspace();
    kernels::Accumulate accumulate() const noexcept {
        return op_.accumulate ? kernels::Accumulate::yes : kernels::Accumulate::no;
    }
    /// Dropout of `site` in layer `layer` (-1: the embedding); none when the op does not train.
    kernels::Dropout dropout(const spec::RunSpec& spec, bool has_dropout, int layer, int site);

    /// Whether the kernel has taken all that the op names: a buffer under one role at least.
    ///
    /// Errors: Error{internal} that names the operand which no kernel takes
    void check_all_taken() const;

  private:
    const schedule::Operand& found(const schedule::Operand* operand, Role role);
    std::span<std::byte> bytes(const schedule::Operand& operand) const;
    void check_width(Role role, std::int64_t elements, std::int64_t width) const;

    template <class E>
    std::span<E> typed(const schedule::Operand& operand) const {
        const auto raw = bytes(operand);
        return device::elements<E>(raw.data(), std::ssize(raw));
    }

    const schedule::Program& program_;
    const schedule::Op& op_;
    const Arenas& arenas_;
    std::set<int> taken_;  ///< buffers
};

/// Sites of dropout within a layer; part of the random numbers' key.
enum DropoutSite {
    dropout_embedding = 0,
    dropout_attention = 1,
    dropout_attention_branch = 2,
    dropout_mlp_branch = 3
};

// One file each: kernels of a kind of phase.
template <class T>
Kernel bind_norm(Binder<T>& binder, const layout::Unit& unit, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_residual(Binder<T>& binder,
                     const layout::Unit& unit,
                     const layout::Phase& phase,
                     Operands& operands);
template <class T>
Kernel bind_linear(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_attention(Binder<T>& binder,
                      const layout::Unit& unit,
                      const layout::Phase& phase,
                      Operands& operands);
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
// bind_tiles.cpp and bind_head_tiles.cpp: some columns of an output, which are rows of a weight.
template <class T>
Kernel bind_linear_tile(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_embedding_tile(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_logits_tile(Binder<T>& binder, const layout::Phase& phase, Operands& operands);
template <class T>
Kernel bind_loss_tile(Binder<T>& binder, Operands& operands);

}  // namespace ziggurat::model
