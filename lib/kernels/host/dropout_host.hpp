/// Dropout's factors by the row, for the host; only *_host.cpp files include it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/dropout.hpp"
#include "tensor/bfloat16.hpp"

namespace ziggurat::kernels::host {

/// Finds the sample and the position of a row of a call, and the factors of its channels.
class DropoutRows {
  public:
    /// Channels whose factors are made at a time: they stay in the first cache.
    static constexpr std::int64_t run_length = 256;

    /// \pre check_dropout
    explicit DropoutRows(const ReadableDropout& dropout)
        : mask_{dropout},
          samples_{dropout.samples},
          sequence_{mask_.drops() ? dropout.sequence : 1},
          first_row_{dropout.first_row} {}

    bool drops() const noexcept { return mask_.drops(); }

    /// factors[i] is that of channel first + i; `first` is a multiple of 4, and whole groups of 4 are written
    /// up to `run_length` of them.
    void factors(std::int64_t row, std::int64_t first, std::int64_t count, float* factors) const noexcept {
        const auto in_batch = first_row_ + row;
        const auto position = static_cast<std::uint32_t>(in_batch % sequence_);
        const auto sample = static_cast<std::uint64_t>(samples_[in_batch / sequence_]);
        const auto groups = (count + 3) / 4;
        const auto first_group = static_cast<std::uint32_t>(first / 4);
        const DropoutMask mask = mask_;
#pragma omp simd
        for (std::int64_t g = 0; g < groups; ++g) {
            mask.factors(first_group + static_cast<std::uint32_t>(g), position, sample, factors + 4 * g);
        }
    }

  private:
    DropoutMask mask_;
    const std::int64_t* samples_;
    std::int64_t sequence_;
    std::int64_t first_row_;
};

/// to = x + branch, the branch multiplied by its factors where something is dropped. `to` may be x or branch.
template <class T>
void add_branch_row(
    const T* x, const T* branch, const DropoutRows& dropout, std::int64_t row, T* to, std::int64_t width) {
    if (!dropout.drops()) {
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) {
            tensor::store(to[c], float(x[c]) + float(branch[c]));
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

/// to = from multiplied by the factors of channels [first, first + count), at most run_length. `to` may be
/// `from`.
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

/// The same for a whole row.
template <class T>
void drop_row(const T* from, const DropoutRows& dropout, std::int64_t row, T* to, std::int64_t width) {
    for (std::int64_t first = 0; first < width; first += DropoutRows::run_length) {
        drop_run(from + first, dropout, row, first, to + first,
                 std::min(DropoutRows::run_length, width - first));
    }
}

}  // namespace ziggurat::kernels::host
