/// The kinds of state that a run keeps, as a table.
#pragma once

#include <cstdint>
#include <vector>

#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Over how many data ranks a state kind is cut.
enum class SpanOf { parameters, gradients, optimizer };

/// What becomes of a state when a run goes on with another layout.
enum class OnRelayout {
    reshard,         ///< the same elements, cut anew
    made_anew,       ///< follows from other states or from the next step
    sum_over_ranks,  ///< every rank's part is a summand
    reset,           ///< zeroed, with a notice
};

/// One row: everything that layout, memory plan and checkpoints have to know of a kind.
struct StateKindRow {
    const char* name = "";
    spec::DType type = spec::DType::f32;
    int elements_per_parameter = 1;
    bool of_frozen = false;  ///< frozen tensors have it, otherwise trained ones
    SpanOf span = SpanOf::optimizer;
    spec::Home home;
    bool is_saved = false;
    OnRelayout on_relayout = OnRelayout::reshard;

    std::int64_t bytes_per_parameter() const noexcept {
        return elements_per_parameter * spec::element_bytes(type);
    }
};

/// The kinds of `spec`, in the order in which they are held: parameters, those of frozen tensors (where
/// train.only leaves some out; no step changes them, so they are their own masters in any type), gradients,
/// master (where the compute type is not f32: otherwise the parameters are the master), first and second
/// moment.
std::vector<StateKindRow> state_kinds(const spec::RunSpec& spec);

/// Data ranks over which `row` is cut.
int span_of(const StateKindRow& row, const spec::Sharding& sharding);

}  // namespace ziggurat::layout
