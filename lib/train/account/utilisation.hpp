/// Model FLOPs utilisation: how much of what the machine can compute goes into the model.
#pragma once

#include <algorithm>
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

/// The utilisation of steps. A step that reaches more than the peak raises it: a peak that was measured while
/// others used the machine was too low.
///
/// Source: Chowdhery et al., "PaLM", 2022, appendix B: what is computed again counts as nothing.
class Utilisation {
  public:
    /// Of a run whose peak is unknown.
    Utilisation() = default;
    Utilisation(double flops_per_token, std::int64_t ranks, const Peak& peak) noexcept
        : flops_per_token_{flops_per_token}, ranks_{ranks}, peak_{peak.flops_of_rank} {}

    bool is_known() const noexcept { return peak_ > 0; }
    /// FLOP/s of a rank.
    double peak() const noexcept { return peak_; }
    /// At one token per second of all ranks, against the peak as it is now; 0 when it is unknown.
    double of_one_token_s() const noexcept {
        return is_known() ? flops_per_token_ / (static_cast<double>(ranks_) * peak_) : 0;
    }

    /// Of the tokens per second of all ranks in a step: up to 1.
    ///
    /// \pre is_known()
    double of_step(double tok_s) noexcept {
        const double reached = tok_s * flops_per_token_ / static_cast<double>(ranks_);
        peak_ = std::max(peak_, reached);
        return reached / peak_;
    }

  private:
    double flops_per_token_ = 0;
    std::int64_t ranks_ = 1;
    double peak_ = 0;
};

}  // namespace ziggurat::train
