/// Prefetch depths and chunk sizes: the lead and the granularity of state transfers.
#pragma once

#include <cstdint>
#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Depths that a deck leaves to the planner (auto).
struct AutoDepths {
    bool prefetch = false;
    bool optimizer_prefetch = false;
    bool chunk = false;

    bool any() const { return prefetch || optimizer_prefetch || chunk; }
};

/// Depths chosen by plan::choose_depths.
struct Depths {
    int prefetch = 1;
    int optimizer_prefetch = 0;
    std::int64_t chunk_elements = 0;
    std::string prefetch_reason, optimizer_prefetch_reason, chunk_reason;

    /// Returns the reason to which text about both depths is added.
    std::string& ahead_reason(AutoDepths open) {
        return open.prefetch ? prefetch_reason : optimizer_prefetch_reason;
    }
};

/// Returns the chunk elements to use if no state is transferred.
///
/// 4 Mi on the host; 64 Mi on GPUs, where each update is a separate launch.
std::int64_t chunk_at_rest(DeviceKind device);

/// True if updates in backward assume that the gradient needs no clipping, until the norm is known.
bool speculates(const RunSpec& run);

// True if the condition holds for any stage.
bool is_any_state_away(const RunSpec& run);  ///< any state outside of the device tier
bool is_any_state_on_nvme(const RunSpec& run);
bool are_optimizer_states_on_nvme(const RunSpec& run);
bool has_auto_home(const RunSpec& run);
bool has_auto_recomputation(const RunSpec& run);

/// Returns defaults for open depths, for runs without transfers or before transfers are known.
///
/// Depths that are not open are those of `spec`.
Depths depths_at_rest(const RunSpec& spec, AutoDepths open);

/// Returns the chunk elements with which a rank that updates `elements` elements has eight chunks.
///
/// The result is a power of two between 512 Ki and 4 Mi. So no transfer of two-byte elements is below 1 MiB.
std::int64_t usual_chunk(std::int64_t elements);

}  // namespace ziggurat::spec
