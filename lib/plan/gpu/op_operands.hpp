/// Direction of an op, and OpOperands: sizes of its operands, by role.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "schedule/step_program.hpp"
#include "schedule/sums_apart.hpp"

namespace ziggurat::plan {

/// True for forward and for its repetition during backward.
inline bool is_forward(const schedule::Op& op) {
    return op.direction == schedule::Direction::forward || op.direction == schedule::Direction::recompute;
}

class OpOperands {
  public:
    OpOperands(const schedule::Program& program, const schedule::Op& op) : program_{program}, op_{op} {}

    const schedule::Op& op() const noexcept { return op_; }
    bool reads(schedule::Role role) const { return program_.find_read(op_, role) != nullptr; }
    bool writes(schedule::Role role) const { return program_.find_write(op_, role) != nullptr; }
    /// True if the op adds to the operand that it reads, and writes the sum to another buffer.
    bool sums_apart(schedule::Role role) const { return schedule::sums_apart(program_, op_, role); }
    /// Returns the bytes of the operand that is read in that role; 0 if the op has no such operand.
    std::int64_t read(schedule::Role role) const { return bytes_of(program_.find_read(op_, role)); }
    std::int64_t written(schedule::Role role) const { return bytes_of(program_.find_write(op_, role)); }
    std::int64_t rows() const noexcept { return op_.row_end - op_.row_begin; }

    /// Returns the bytes of all operands except workspaces and the given roles. A buffer that is read in
    /// two roles counts one time.
    std::int64_t all_but(std::initializer_list<schedule::Role> left_out = {}) const;
    /// Returns the bytes that a kernel moves for an output which it stores, or adds to existing values.
    std::int64_t stored_or_added(schedule::Role role) const {
        return written(role) * (op_.accumulate ? 2 : 1);
    }

  private:
    static std::int64_t bytes_of(const schedule::Operand* operand) {
        return operand == nullptr ? 0 : operand->bytes();
    }

    const schedule::Program& program_;
    const schedule::Op& op_;
};

}  // namespace ziggurat::plan
