/// Shard degrees of parameters, gradients and optimizer state together, and their names as ZeRO stages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// Numbers of consecutive data ranks over which the three kinds of state are sharded.
struct StateSpans {
    int parameters = 1;
    int gradients = 1;
    int optimizer = 1;

    bool operator==(const StateSpans&) const = default;
};

/// Returns the spans of a run.
StateSpans spans_of(const Sharding& sharding);

/// Returns the spans of a ZeRO stage, 0 to 3, over `data` ranks.
StateSpans spans_of_stage(int stage, int data);

/// Returns spans over the layers of a cube of tensor ranks (Parallel::has_cube), which are the first of
/// `layers` consecutive data ranks: a span of a part of them becomes one of all of them.
StateSpans in_whole_layers(StateSpans spans, int layers);

/// Returns the lowest ZeRO stage over `data` ranks that has these spans; nullopt if none has.
std::optional<int> zero_stage_of(const StateSpans& spans, int data);

/// Returns `zero 1`, or `spans 1/1/8` in the order parameters, gradients, optimizer.
std::string span_text(const StateSpans& spans, int data);

/// Returns the order in which gradients are summed with these spans, if the deck leaves it open.
///
/// \param leave_device  gradients have their home away from the device
ReducePlan reduce_plan_of(const StateSpans& spans, int data, bool leave_device);

/// The spans that a search tries for one kind of state.
struct SpanSetting {
    enum class Kind { any, node, all, number };

    Kind kind = Kind::any;
    int number = 1;  ///< for Kind::number

    bool operator==(const SpanSetting&) const = default;
};

/// Settings of the three kinds of state.
struct SpanSettings {
    SpanSetting parameters, gradients, optimizer;

    /// True if a search chooses at least one of them.
    bool has_any() const;
    bool operator==(const SpanSettings&) const = default;
};

/// Returns the settings of a ZeRO stage, 0 to 3, over all data ranks.
SpanSettings settings_of_stage(int stage);

/// Returns all spans that `settings` allow over `data` ranks; empty if `settings` conflict.
///
/// `any` is one rank, the data ranks of a node, or all. Spans divide each other in the order parameters,
/// gradients, optimizer, data ranks, and the span of gradients is one of the other two.
///
/// Source: Chen et al., "AMSP: Reducing Communication Overhead of ZeRO", 2023, section 3.
///
/// \param on_node  data ranks of a node
std::vector<StateSpans> allowed_spans(const SpanSettings& settings, int data, int on_node);

}  // namespace ziggurat::spec
