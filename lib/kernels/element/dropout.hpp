/// Dropout masks: the one definition for every kernel and every memory space.
///
/// A value is kept with probability 1 - p and then multiplied by factor / (1 - p). One word of Philox over
/// global coordinates decides:
///
///     counter = {channel / 4, position, low half of sample, high half of sample ^ (head << 16)}
///     key     = {low half of seed ^ mix(purpose), high half of seed ^ mix(step)}
///     word    = Philox4x32(counter, key)[channel % 4];   dropped if word < p * 2^32
///
/// with mix(purpose) = (purpose + 1) * 0x9E3779B9, so that no purpose has the key of the initial values (the
/// seed itself), and mix(step) = low half of step * 0x85EBCA6B ^ high half of step * 0xC2B2AE35, modulo 2^32.
/// The mask is therefore the same for any division of the batch, on any layout and in recomputation. For
/// attention probabilities, channel is the key's position, position the query's, and head the global head.
#pragma once

#include <cstdint>

#include "base/element.hpp"
#include "base/philox.hpp"
#include "kernels/launch/step_inputs.hpp"

namespace ziggurat::kernels {

/// A DropoutView with all values computed that do not depend on the element.
struct DropoutMask {
    Philox4x32::Key key{};
    std::uint32_t threshold = 0;  ///< smaller words drop the value
    float scale = 1;              ///< factor of kept values; of all values without dropout

    /// Creates a mask that drops nothing.
    DropoutMask() = default;
    /// Reads the step from `dropout.inputs`. \pre check_dropout
    ZG_ELEMENT explicit DropoutMask(const DropoutView& dropout) noexcept {
        if (dropout.probability == 0) {
            scale = dropout.factor;
            return;
        }
        const auto step = static_cast<std::uint64_t>(dropout.inputs->step + dropout.steps_ahead);
        key = {static_cast<std::uint32_t>(dropout.seed) ^ ((dropout.purpose + 1) * 0x9E3779B9u),
               static_cast<std::uint32_t>(dropout.seed >> 32) ^
                   (static_cast<std::uint32_t>(step) * 0x85EBCA6Bu) ^
                   (static_cast<std::uint32_t>(step >> 32) * 0xC2B2AE35u)};
        threshold = static_cast<std::uint32_t>(static_cast<double>(dropout.probability) * 0x1p32);
        scale = dropout.factor * (1.0f / (1.0f - dropout.probability));
    }

    ZG_ELEMENT bool drops() const noexcept { return threshold != 0; }

    /// Returns the random words of channels 4 * group .. 4 * group + 3.
    ZG_ELEMENT Philox4x32::Counter words(std::uint32_t group,
                                         std::uint32_t position,
                                         std::uint64_t sample,
                                         std::uint32_t head = 0) const noexcept {
        return Philox4x32::generate({group, position, static_cast<std::uint32_t>(sample),
                                     static_cast<std::uint32_t>(sample >> 32) ^ (head << 16)},
                                    key);
    }

    /// Returns the factor of a value with this word: 0 or scale.
    ZG_ELEMENT float factor(std::uint32_t word) const noexcept { return word < threshold ? 0.0f : scale; }

    /// Writes the factors of channels 4 * group .. 4 * group + 3.
    ///
    /// A separate function, because a vectorised loop must not contain a local array.
    ZG_ELEMENT void factors(std::uint32_t group,
                            std::uint32_t position,
                            std::uint64_t sample,
                            float* to) const noexcept {
        const auto random = words(group, position, sample);
        to[0] = factor(random[0]);
        to[1] = factor(random[1]);
        to[2] = factor(random[2]);
        to[3] = factor(random[3]);
    }
};

}  // namespace ziggurat::kernels
