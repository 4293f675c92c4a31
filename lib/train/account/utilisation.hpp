/// Model FLOPs utilisation: how much of what the machine can compute goes into the model.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::train {

/// Peak rate of matrix products in the compute type.
struct Peak {
    double flops_of_rank = 0;  ///< FLOP/s; 0: unknown
    std::string source = {};   ///< of the number, as in `measured at the start`
};

/// Formula behind the utilisation, for the lines that show it.
inline constexpr const char* mfu_formula = "tok/s x FLOP/token / (ranks x peak of a rank)";

/// The utilisation at one token per second of all ranks; 0 when the peak is unknown.
///
/// Source: Chowdhery et al., "PaLM", 2022, appendix B: what is computed again counts as nothing.
inline double mfu_of_one_token_s(double flops_per_token, std::int64_t ranks, const Peak& peak) noexcept {
    const double all = static_cast<double>(ranks) * peak.flops_of_rank;
    return all > 0 ? flops_per_token / all : 0;
}

}  // namespace ziggurat::train
