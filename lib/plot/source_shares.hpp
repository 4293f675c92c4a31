/// Shares of the data sources over the steps of a run, and their changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plot/history.hpp"

namespace ziggurat::plot {

/// Shares of the sources by step.
class SourceShares {
  public:
    /// Forgets the shares of `step` and of later steps. Returns true if a change of them is forgotten.
    bool forget_from(std::int64_t step);

    /// Adds the shares of `step`; empty: there is one source.
    ///
    /// Returns the shares before it if they differ. The first shares are not a change.
    ///
    /// \pre `step` is after the last step with shares (forget_from)
    std::optional<std::vector<SourceShare>> add(std::int64_t step, std::vector<SourceShare> shares);

  private:
    struct Range {
        std::int64_t first = 0;  ///< step
        std::vector<SourceShare> shares = {};
    };

    std::vector<Range> ranges_;  ///< neighbours have different shares
};

/// Returns `weights: books 70 to 20 %, code 30 to 80 %`. Pure.
///
/// Sources whose shares are equal are left out.
std::string change_text(const std::vector<SourceShare>& before, const std::vector<SourceShare>& after);

/// Returns labels of shares, the longest first: `books 20 %, code 80 %`, then `20:80 %`. Pure.
///
/// A label that is too long for a picture is left out. Sources of share 0 are only in the second one.
std::vector<std::string> share_labels(const std::vector<SourceShare>& shares);

}  // namespace ziggurat::plot
