/// Settings of a layout that a deck leaves to the planner.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "spec/run_spec.hpp"
#include "spec/state_spans.hpp"

namespace ziggurat::spec {

/// The settings that a search chooses; all others stay as in the run.
struct LayoutSpace {
    bool tensor = true;
    bool sequence = true;  ///< parallel.sequence: on if the tensor ranks can divide the sequence
    bool context = true;   ///< degree; the kind stays
    bool pipeline = true;  ///< stages
    bool chunks = true;    ///< per stage, with the schedule
    bool data = true;      ///< follows the other degrees
    SpanSettings spans = {};
    bool micro_batch = true;
    bool recompute = true;
    int sum_group = 0;  ///< number in the deck's sharding.sum_group, which stays; 0: a keyword

    bool operator==(const LayoutSpace&) const = default;
};

/// The space that keeps all settings.
inline constexpr LayoutSpace no_layout_space{.tensor = false,
                                             .sequence = false,
                                             .context = false,
                                             .pipeline = false,
                                             .chunks = false,
                                             .data = false,
                                             .spans = {.parameters = {SpanSetting::Kind::number, 1},
                                                       .gradients = {SpanSetting::Kind::number, 1},
                                                       .optimizer = {SpanSetting::Kind::number, 1}},
                                             .micro_batch = false,
                                             .recompute = false};

/// Returns the problems of the deck with a layout; none if its rules accept the layout.
///
/// \param run  with the layout, of which only the settings in the space count
using LayoutRules = std::function<std::vector<std::string>(const RunSpec& run, const LayoutSpace&)>;

/// Layouts of a run in the order in which they should be used.
struct ChosenLayouts {
    std::vector<RunSpec> runs;    ///< the best first
    std::string reason;           ///< of the choice; if `runs` is empty: of the failure
    std::string advice = {};      ///< if `runs` is empty
    bool are_impossible = false;  ///< `runs` is empty, because the settings that stay allow no layout
};

/// True if `tensor` ranks can divide the tokens of a sequence (parallel.sequence). A grid cannot.
inline bool can_share_tokens(const RunSpec& spec, int tensor) {
    return tensor > 1 && !spec.parallel.has_grid() &&
           spec.data.seq % (std::int64_t{spec.parallel.context} * tensor) == 0;
}

/// True if tensor ranks hold equal activations between the products of a layer.
inline bool has_equal_activations(const Parallel& parallel) {
    return parallel.tensor > 1 && !parallel.sequence && !parallel.has_grid();
}

}  // namespace ziggurat::spec
