/// Search for the fates of activations: kept, swapped or recomputed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/cost/rates.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::plan {

/// Activations of a layer that share a fate: those that one op makes, or the outputs of units.
struct FateGroup {
    std::vector<std::string> names;  ///< for FateRule::match
    /// Seconds of recomputation that a saved byte spares, with the ops whose results are not saved.
    double seconds_per_byte = 0;
    bool is_recomputable = true;

    bool operator==(const FateGroup&) const = default;
};

/// Returns the groups of a run: first those that cannot be recomputed, then the dearest to recompute.
std::vector<FateGroup> fate_groups(const spec::RunSpec& spec, const Rates& rates);

/// Result of trying fates.
enum class FateTrial {
    fits,
    lacks_memory,  ///< of the device, or in any tier if none remains
    lacks_host,    ///< only the host's memory does not suffice
    stop,          ///< no more fates are tried
};

/// Tries fates; sets `seconds` to the time of a step if they fit.
using TryFates = std::function<FateTrial(const std::vector<spec::FateRule>& fates, double& seconds)>;

/// Tries the fates that may be the fastest.
///
/// The groups that are cheapest to recompute per byte are recomputed. Of the others, the dearest are swapped:
/// to the host, and then to NVMe if the host lacks memory. For each number of recomputed groups, the search
/// finds the minimum number of swapped groups that fits. From the fastest of these pairs of numbers, it moves
/// to faster neighbours until none is faster.
///
/// Source: Liao et al., "Adding NVMe SSDs to Enable and Accelerate 100B Model Fine-tuning on a Single GPU",
/// 2024 (Fuyou: benefit per byte; the time of a step is convex in the bytes that are swapped).
///
/// \param has_nvme  true if activations may go to NVMe
void search_fates(const std::vector<FateGroup>& groups, bool has_nvme, const TryFates& try_fates);

}  // namespace ziggurat::plan
