/// Dropout factors for packs of channels; only *_cuda.cu files include it.
#pragma once

#include <cstdint>

#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/element/dropout.hpp"

namespace ziggurat::kernels::cuda {

/// Dropout factors of the channels of a call's rows, as defined in kernels/element/dropout.hpp.
class DropoutPacks {
  public:
    __device__ explicit DropoutPacks(const DropoutView& dropout) : mask_{dropout}, dropout_{dropout} {}

    __device__ bool drops() const { return mask_.drops(); }
    /// Returns the factor of all values of a call that drops none.
    __device__ float scale() const { return mask_.scale; }

    /// Position of a row in the batch, the same for all of its packs.
    struct Place {
        std::uint32_t position = 0;
        std::uint64_t sample = 0;
    };
    /// Returns the position of a row; empty without dropout.
    __device__ Place element_position(std::int64_t row) const {
        if (!drops()) {
            return {};
        }
        const auto [sample, position] = divided(dropout_.first_row + row, dropout_.sequence);
        return {static_cast<std::uint32_t>(dropout_.rows.position(position)),
                static_cast<std::uint64_t>(dropout_.samples[sample])};
    }

    /// Writes the factors of channels first to first + pack - 1.
    ///
    /// \pre drops(), and `first` and the call's first channel are multiples of 4
    __device__ void factors(const Place& row, std::int64_t first, float (&to)[pack]) const {
        const auto group_of_first = static_cast<std::uint32_t>((dropout_.first_channel + first) / 4);
#pragma unroll
        for (int group = 0; group < pack / 4; ++group) {
            mask_.factors(group_of_first + group, row.position, row.sample, to + 4 * group);
        }
    }
    __device__ void factors(std::int64_t row, std::int64_t first, float (&to)[pack]) const {
        factors(element_position(row), first, to);
    }

  private:
    DropoutMask mask_;
    const DropoutView& dropout_;
};

}  // namespace ziggurat::kernels::cuda
