/// Dropout factors of rows, for the host; only *_host.cpp files include it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/element/dropout.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

/// Computes the sample and the position of a row of a call, and the factors of its channels.
class DropoutRows {
  public:
    /// Number of channels whose factors are computed at a time, so that they stay in L1.
    static constexpr std::int64_t run_length = 256;

    /// \pre check_dropout
    explicit DropoutRows(const DropoutView& dropout)
        : mask_{dropout},
          samples_{dropout.samples},
          sequence_{mask_.drops() ? dropout.sequence : 1},
          first_row_{dropout.first_row},
          first_channel_{dropout.first_channel},
          rows_{dropout.rows} {}

    bool drops() const noexcept { return mask_.drops(); }
    /// Returns the factor of all values of a call that drops none.
    float scale() const noexcept { return mask_.scale; }

    /// Writes the factor of channel first + i to factors[i]. \pre `first` is a multiple of 4
    ///
    /// Writes whole groups of 4, up to `run_length` factors.
    void factors(std::int64_t row, std::int64_t first, std::int64_t count, float* factors) const noexcept {
        const auto skipped = first_channel_ % 4;
        if (skipped == 0) {
            groups_of(row, first_channel_ + first, count, factors);
            return;
        }
        float groups[run_length + 4];
        groups_of(row, first_channel_ - skipped + first, count + skipped, groups);
        std::copy_n(groups + skipped, count, factors);
    }

  private:
    /// Writes the factors of the groups of 4 channels that contain [channel, channel + count).
    void groups_of(std::int64_t row,
                   std::int64_t channel,
                   std::int64_t count,
                   float* factors) const noexcept {
        const auto in_batch = first_row_ + row;
        const auto position = static_cast<std::uint32_t>(rows_.position(in_batch % sequence_));
        const auto sample = static_cast<std::uint64_t>(samples_[in_batch / sequence_]);
        const auto groups = (count + 3) / 4;
        const auto first_group = static_cast<std::uint32_t>(channel / 4);
        const DropoutMask mask = mask_;
#pragma omp simd
        for (std::int64_t g = 0; g < groups; ++g) {
            mask.factors(first_group + static_cast<std::uint32_t>(g), position, sample, factors + 4 * g);
        }
    }

    DropoutMask mask_;
    const std::int64_t* samples_;
    std::int64_t sequence_;
    std::int64_t first_row_;
    std::int64_t first_channel_;
    layout::ContextRows rows_;
};

/// Computes to = x + branch, the branch with dropout. `to` may be x or branch.
template <class T>
void add_branch_row(
    const T* x, const T* branch, const DropoutRows& dropout, std::int64_t row, T* to, std::int64_t width) {
    if (!dropout.drops()) {
        const float scale = dropout.scale();  // with 1, the fused sum has the bits of a plain one
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
            tensor::store(to[c], std::fma(float(branch[c]), scale, float(x[c])));
        }
        return;
    }
    float factors[DropoutRows::run_length];
    for (std::int64_t first = 0; first < width; first += DropoutRows::run_length) {
        const auto count = std::min(DropoutRows::run_length, width - first);
        dropout.factors(row, first, count, factors);
        const T* a = x + first;
        const T* b = branch + first;
        T* out = to + first;
#pragma omp simd
        for (std::int64_t c = 0; c < count; ++c) {
            tensor::store(out[c], std::fma(float(b[c]), factors[c], float(a[c])));
        }
    }
}

/// Computes to = from times the factors of channels [first, first + count), at most run_length.
///
/// `to` may be `from`.
template <class From, class To>
void drop_run(const From* from,
              const DropoutRows& dropout,
              std::int64_t row,
              std::int64_t first,
              To* to,
              std::int64_t count) {
    float factors[DropoutRows::run_length];
    dropout.factors(row, first, count, factors);
#pragma omp simd
    for (std::int64_t c = 0; c < count; ++c) {
        tensor::store(to[c], float(from[c]) * factors[c]);
    }
}

/// Does the same for a whole row, also without dropout.
template <class T>
void drop_row(const T* from, const DropoutRows& dropout, std::int64_t row, T* to, std::int64_t width) {
    if (!dropout.drops()) {
        const float scale = dropout.scale();
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
            tensor::store(to[c], float(from[c]) * scale);
        }
        return;
    }
    for (std::int64_t first = 0; first < width; first += DropoutRows::run_length) {
        drop_run(from + first, dropout, row, first, to + first,
                 std::min(DropoutRows::run_length, width - first));
    }
}

}  // namespace ziggurat::kernels::host
