/// Model FLOPs utilisation (MFU): fraction of the peak rate that the model's FLOPs reach.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace ziggurat::train {

/// Peak rate of matrix products in the compute type.
struct Peak {
    double flops_of_rank = 0;  ///< FLOP/s; 0: unknown
    std::string source = {};   ///< origin of the number, such as `measured at the start`
};

/// Formula of the utilisation, for the lines that show it.
inline constexpr const char* mfu_formula = "tok/s x FLOP/token / (ranks x peak of a rank)";

/// Utilisation of steps. A step that exceeds the peak raises it.
///
/// A measured peak is too low if other processes used the machine during the measurement.
///
/// Source: Chowdhery et al., "PaLM", 2022, appendix B: recomputation does not count.
class Utilisation {
  public:
    /// Constructs the utilisation of a run whose peak is unknown.
    Utilisation() = default;
    Utilisation(double flops_per_token, std::int64_t ranks, const Peak& peak) noexcept
        : flops_per_token_{flops_per_token}, ranks_{ranks}, peak_{peak.flops_of_rank} {}

    bool is_known() const noexcept { return peak_ > 0; }
    /// Returns the peak in FLOP/s per rank.
    double peak() const noexcept { return peak_; }
    /// Returns the utilisation at one token per second over all ranks, with the current peak; 0 if unknown.
    double of_one_token_s() const noexcept { return is_known() ? flops_of_rank(1) / peak_ : 0; }

    /// Returns the utilisation of a step with `tok_s` tokens per second over all ranks, at most 1.
    ///
    /// \pre is_known()
    double of_step(double tok_s) noexcept {
        const double reached = flops_of_rank(tok_s);
        peak_ = std::max(peak_, reached);
        return reached / peak_;
    }

  private:
    double flops_of_rank(double tok_s) const noexcept {
        return tok_s * flops_per_token_ / static_cast<double>(ranks_);
    }

    double flops_per_token_ = 0;
    std::int64_t ranks_ = 1;
    double peak_ = 0;
};

}  // namespace ziggurat::train
