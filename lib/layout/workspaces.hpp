/// Scratch bytes of kernels, as schedules and plans ask for them: without a device.
#pragma once

#include <cstdint>
#include <memory>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

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
    virtual std::int64_t packed_linear(std::int64_t rows, std::int64_t in) const = 0;
    /// Of the weight [out, in], packed for one of its products.
    virtual std::int64_t packed_weight(std::int64_t in, std::int64_t out) const = 0;
    /// Of attention over sequences of `seq` tokens, forward and backward.
    virtual std::int64_t attention(std::int64_t seq, std::int64_t head_dim) const = 0;
    /// Of column sums over a matrix of `width` columns: gradients of norm gains and of biases.
    virtual std::int64_t column_sum(std::int64_t width) const = 0;
};

/// Those of the backend that computes `run`.
std::unique_ptr<Workspaces> make_workspaces(const spec::RunSpec& run);

}  // namespace ziggurat::layout
