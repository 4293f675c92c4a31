/// Dropout factors for packs of channels; only *_cuda.cu files include it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/row_packs_cuda.hpp"
#include "kernels/element/dropout.hpp"

namespace ziggurat::kernels::cuda {

/// Dropout factors of the channels of a call's rows, as defined in kernels/element/dropout.hpp.
///
/// Four channels are drawn together. If the call's first channel is not a multiple of 4, a pack begins inside
/// such a group, which takes more registers.
///
/// \tparam is_shifted  true if the call's first channel may not be a multiple of 4
template <bool is_shifted = false>
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
    /// \pre drops()
    __device__ void factors(const Place& row, std::int64_t first, float (&to)[pack]) const {
        constexpr int groups = pack / 4;
        const auto channel = dropout_.first_channel + first;
        const auto group_of_first = static_cast<std::uint32_t>(channel / 4);
#pragma unroll
        for (int group = 0; group < groups; ++group) {
            mask_.factors(group_of_first + group, row.position, row.sample, to + 4 * group);
        }
        if constexpr (is_shifted) {
            float last[4];
            mask_.factors(group_of_first + groups, row.position, row.sample, last);
            const auto skipped = static_cast<int>(channel % 4);
            if ((skipped & 1) != 0) {
                shift<1>(to, last);
            }
            if ((skipped & 2) != 0) {
                shift<2>(to, last);
            }
        }
    }
    __device__ void factors(std::int64_t row, std::int64_t first, float (&to)[pack]) const {
        factors(element_position(row), first, to);
    }

  private:
    /// Moves the factors of `to`, followed by `last`, to the front. All indices are constants.
    template <int channels>
    __device__ static void shift(float (&to)[pack], float (&last)[4]) {
#pragma unroll
        for (int i = 0; i < pack; ++i) {
            to[i] = i + channels < pack ? to[i + channels] : last[i + channels - pack];
        }
#pragma unroll
        for (int i = 0; i + channels < 4; ++i) {
            last[i] = last[i + channels];
        }
    }

    DropoutMask mask_;
    const DropoutView& dropout_;
};

/// Calls `launch` with the argument of DropoutPacks for this dropout, as std::bool_constant.
template <class Launch>
void launch_with_packs(const DropoutView& dropout, const Launch& launch) {
    if (dropout.first_channel % 4 == 0) {
        launch(std::false_type{});
    } else {
        launch(std::true_type{});
    }
}

}  // namespace ziggurat::kernels::cuda
