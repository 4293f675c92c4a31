/// Prefetch depths and chunk sizes: how far ahead of its use state is brought, and in what pieces.
#pragma once

#include <cstdint>
#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Depths that a deck leaves to the planner.
struct OpenDepths {
    bool prefetch = false;
    bool optimizer_prefetch = false;
    bool chunk = false;

    bool any() const { return prefetch || optimizer_prefetch || chunk; }
};

/// Depths that plan::choose_depths has found.
struct Depths {
    int prefetch = 1;
    int optimizer_prefetch = 0;
    std::int64_t chunk_elements = 0;
    std::string why_prefetch, why_optimizer_prefetch, why_chunk;

    /// Where to say what holds for both depths.
    std::string& why_ahead(OpenDepths open) { return open.prefetch ? why_prefetch : why_optimizer_prefetch; }
};

/// Elements of a chunk where nothing moves: 4 Mi on the host; 64 Mi on GPUs, where each update has a launch
/// of its own.
std::int64_t chunk_at_rest(DeviceKind device);

// On any stage.
bool is_any_state_away(const RunSpec& run);  ///< from the device
bool is_any_state_on_nvme(const RunSpec& run);
bool are_optimizer_states_on_nvme(const RunSpec& run);
bool is_any_home_open(const RunSpec& run);
bool is_any_recomputation_open(const RunSpec& run);

/// What is open, where nothing moves or before it is known what does; the rest as in `spec`.
Depths depths_at_rest(const RunSpec& spec, OpenDepths open);

/// Elements of a chunk with which a rank that updates `elements` has eight of them: a power of two, at least
/// 512 Ki, so that in two bytes an element no transfer is below 1 MiB, and at most 4 Mi.
std::int64_t usual_chunk(std::int64_t elements);

}  // namespace ziggurat::spec
