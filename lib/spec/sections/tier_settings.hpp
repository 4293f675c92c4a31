/// Settings of the placement of state in tiers, of overlap and recomputation.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/enum_array.hpp"

namespace ziggurat::spec {

enum class Tier { device, host, nvme };
template <class T>
using ByTier = EnumArray<Tier, T, 3>;

/// Shares of a state kind over the tiers; they sum to 1.
struct Home {
    double device = 1;
    double host = 0;
    double nvme = 0;

    bool operator==(const Home&) const = default;
};

enum class Movement { fixed, chunks };

/// Products, lookups or both whose weights are split into a grid of tiles.
struct TileRule {
    std::string match;  ///< pattern of tensor names
    int in = 1;         ///< tiles along the inputs
    int out = 1;        ///< tiles along the outputs

    bool operator==(const TileRule&) const = default;
};

/// Settings that a deck leaves to the planner; plan::choose_homes sets them from the budgets.
struct AutoHomes {
    bool parameters = false;
    bool gradients = false;
    bool optimizer = false;
    bool activations = false;
    bool reduce = false;    ///< the sum plan follows the home of gradients
    bool tiles = false;     ///< the planner chooses the minimum number
    bool prefetch = false;  ///< with open tiles: may become 0 to save memory

    bool any() const { return parameters || gradients || optimizer || activations; }
    bool operator==(const AutoHomes&) const = default;
};

/// Budget of a tier without a limit.
constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// Processor of computations, and owner of the device tier's memory.
enum class DeviceKind { host, cuda };

struct Tiers {
    DeviceKind device = DeviceKind::host;
    std::int64_t device_budget_bytes = unlimited;  ///< per rank
    std::int64_t host_budget_bytes = unlimited;    ///< per node
    /// Part of the host tier that may be pinned, per node; has no use without GPUs.
    std::int64_t pinned_bytes = unlimited;
    std::int64_t nvme_budget_bytes = unlimited;  ///< per node
    std::vector<std::string> nvme_paths;
    bool nvme_near = false;
    std::int64_t nvme_block_bytes = 1 << 20;
    int nvme_queue_depth = 32;
    bool nvme_verify = false;
    std::int64_t endurance_bytes = 0;  ///< write endurance of each path; 0: unknown
    Home parameters, gradients, optimizer, activations;
    Tier kv_cache = Tier::device;  ///< home of the KV cache, which samples and inference have
    AutoHomes open;                ///< must be closed before a program is built
    Movement movement = Movement::fixed;
    std::int64_t chunk_elements = 0;
    std::vector<TileRule> tiles;  ///< the first rule that matches a tensor applies; empty: no tiles
    /// Tiles along the sequence in which MLPs run; 1: whole micro-batches (sequence_tiles_pass).
    int sequence_tiles = 1;
    /// Reduced gradients use the memory of parameters that backward no longer needs.
    bool reuse = false;
    /// The embedding's lookup and its gradient run on the host; only activations cross the link.
    bool embedding_on_host = false;

    bool operator==(const Tiers&) const = default;
};

struct Overlap {
    int prefetch = 1;  ///< segments gathered ahead of use
    /// Passes and updates by which optimizer states on NVMe are prefetched; at least twice `prefetch`.
    int optimizer_prefetch = 0;
    std::int64_t bucket_elements = 0;  ///< gradients per collective; whole units are never split
    /// Updates the chunks of a unit as soon as its gradient is complete, concurrently with backward.
    bool optimizer_with_backward = false;
    bool delayed_update = false;
    std::int64_t delayed_update_after = 0;
    /// Collectives on the tensor axis are in pieces of one rank's rows each, concurrent with the products.
    bool tensor_pieces = false;

    bool operator==(const Overlap&) const = default;
};

enum class RecomputeKind { none, selective, full };

/// Place of an activation between forward and backward.
enum class ActivationFate {
    keep,       ///< stays in the device tier
    host,       ///< is swapped to the host
    nvme,       ///< is swapped to NVMe
    recompute,  ///< is dropped, and backward computes it again
};

/// Fate of the activations whose names `unit.value` match a pattern.
struct FateRule {
    std::string match;
    ActivationFate fate = ActivationFate::keep;

    bool operator==(const FateRule&) const = default;
};

struct Recompute {
    RecomputeKind kind = RecomputeKind::none;
    int every = 1;  ///< units between checkpoints
    /// Shards checkpointed activations that are replicated over tensor ranks; backward gathers them.
    bool split = false;
    /// `kind` is left to the planner, and `split` follows it: plan::choose_homes fills them in.
    bool is_auto = false;
    /// The first rule that matches an activation applies; others follow `kind` and the home of activations.
    std::vector<FateRule> fates = {};

    bool operator==(const Recompute&) const = default;
};

/// Recomputation and homes of one pipeline stage.
struct StageState {
    Recompute recompute;
    Home parameters, gradients, optimizer, activations;
    AutoHomes open;  ///< for the four homes

    bool operator==(const StageState&) const = default;
};

}  // namespace ziggurat::spec
