/// Settings of a layout that a deck leaves to the planner.
#pragma once

namespace ziggurat::spec {

/// The settings that a search chooses; all others stay as in the run.
struct LayoutSpace {
    bool tensor = true;
    bool sequence = true;  ///< parallel.sequence: on if the tensor ranks can divide the sequence
    bool pipeline = true;  ///< stages
    bool chunks = true;    ///< per stage, with the schedule
    bool data = true;      ///< follows the other degrees
    bool sharding = true;
    bool micro_batch = true;
    bool recompute = true;
    int zero = 0;  ///< ZeRO stage that stays if `sharding` is false

    bool operator==(const LayoutSpace&) const = default;
};

/// The space in which nothing is chosen.
inline constexpr LayoutSpace no_layout_space{.tensor = false,
                                             .sequence = false,
                                             .pipeline = false,
                                             .chunks = false,
                                             .data = false,
                                             .sharding = false,
                                             .micro_batch = false,
                                             .recompute = false};

}  // namespace ziggurat::spec
