/// The kinds of state that a run keeps for its parameters, as one table.
///
/// `row_of` holds all differences between kinds, and all code that handles state reads them there: the
/// buffers of a program and their homes, checkpoints and resume, initial values, the memory table, the bytes
/// moved between tiers. A new kind is an enumerator and a row. tests/unit/layout/state_kinds_test.cpp and
/// tests/unit/schedule/state_kinds_test.cpp fail if a program does not keep, use, save or restore it as its
/// row states.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "layout/shard_map.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

/// Kind of state. `none` marks bytes that are not state, such as activations.
enum class StateKind {
    none,
    parameters,
    frozen,
    gradients,
    master,
    first_moment,
    second_moment,
    average,  ///< average of the master weights over the steps
    secondary
};

/// Kinds of pieces in a checkpoint; each has its own files.
enum class PieceKind {
    weights,  ///< the master weights, or the parameters of a frozen tensor
    first_moment,
    second_moment,
    average,
    delayed_weights,  ///< the parameters of a delayed update, which lack the last update of the master
};

/// Groups of kinds with one shard degree (`sharding.*`), home (`tiers.*`) and line of the memory table.
enum class StateGroup { parameters, gradients, optimizer };

/// The element type of a kind, from `precision`.
enum class StateElement { compute, gradient, f32 };

/// The tensors that have the kind, and the time for which a program keeps it.
enum class Presence {
    trained,              ///< trained tensors, from step to step
    trained_if_master,    ///< the same if the parameters are not the master (see Masters)
    trained_if_averaged,  ///< the same with train.average
    frozen,               ///< tensors that train.only leaves out, from step to step
    within_step,          ///< never between steps: a pass creates it and its last reader ends it
};

/// Values before the first step.
enum class InitialContent {
    drawn,    ///< by state::set_initial_values
    zero,     ///< as new memory and files are
    written,  ///< by the first step, before any op reads them
};

/// Values after a resume.
enum class Restore {
    read,  ///< from the checkpoint; a checkpoint without them is rejected
    /// The same, but the master, if it exists, is saved as the weights; see piece_of().
    read_or_rounded,
    read_or_zero,     ///< from the checkpoint; zero for tensors that were frozen when it was written
    read_or_weights,  ///< from the checkpoint; copies of the weights if it has no average of the tensor
    written,          ///< by the next step, before any op reads them
};

/// One row of the table.
///
/// Members have no defaults, so a new row or column without a value does not compile.
struct StateKindRow {
    const char* name;  ///< used in buffer names, printed programs and messages
    StateGroup group;
    StateElement element;
    Presence presence;
    std::optional<PieceKind> piece;  ///< of a checkpoint; empty: never saved
    InitialContent start;
    Restore restore;
    bool is_communicated;  ///< collectives read or write it in its home
};

/// Returns the row of a kind. \pre kind is not `none`
constexpr StateKindRow row_of(StateKind kind) {
    switch (kind) {
        case StateKind::none:
            break;
        case StateKind::parameters:
            return {.name = "parameters",
                    .group = StateGroup::parameters,
                    .element = StateElement::compute,
                    .presence = Presence::trained,
                    .piece = PieceKind::weights,
                    .start = InitialContent::drawn,
                    .restore = Restore::read_or_rounded,
                    .is_communicated = true};
        // No step changes it, so it is its own master in any type.
        case StateKind::frozen:
            return {.name = "frozen",
                    .group = StateGroup::parameters,
                    .element = StateElement::compute,
                    .presence = Presence::frozen,
                    .piece = PieceKind::weights,
                    .start = InitialContent::drawn,
                    .restore = Restore::read,
                    .is_communicated = true};
        case StateKind::gradients:
            return {.name = "gradients",
                    .group = StateGroup::gradients,
                    .element = StateElement::gradient,
                    .presence = Presence::trained,
                    .piece = std::nullopt,
                    .start = InitialContent::written,
                    .restore = Restore::written,
                    .is_communicated = true};
        case StateKind::master:
            return {.name = "master",
                    .group = StateGroup::optimizer,
                    .element = StateElement::f32,
                    .presence = Presence::trained_if_master,
                    .piece = PieceKind::weights,
                    .start = InitialContent::drawn,
                    .restore = Restore::read,
                    .is_communicated = false};
        case StateKind::first_moment:
            return {.name = "first_moment",
                    .group = StateGroup::optimizer,
                    .element = StateElement::f32,
                    .presence = Presence::trained,
                    .piece = PieceKind::first_moment,
                    .start = InitialContent::zero,
                    .restore = Restore::read_or_zero,
                    .is_communicated = false};
        case StateKind::second_moment:
            return {.name = "second_moment",
                    .group = StateGroup::optimizer,
                    .element = StateElement::f32,
                    .presence = Presence::trained,
                    .piece = PieceKind::second_moment,
                    .start = InitialContent::zero,
                    .restore = Restore::read_or_zero,
                    .is_communicated = false};
        case StateKind::average:
            return {.name = "average",
                    .group = StateGroup::optimizer,
                    .element = StateElement::f32,
                    .presence = Presence::trained_if_averaged,
                    .piece = PieceKind::average,
                    .start = InitialContent::drawn,
                    .restore = Restore::read_or_weights,
                    .is_communicated = false};
        case StateKind::secondary:  // hpZ's second copy of the parameters, for backward
            return {.name = "secondary",
                    .group = StateGroup::parameters,
                    .element = StateElement::compute,
                    .presence = Presence::within_step,
                    .piece = std::nullopt,
                    .start = InitialContent::written,
                    .restore = Restore::written,
                    .is_communicated = true};
    }
    throw std::invalid_argument{"no kind of state"};
}

namespace detail {

/// Counts the enumerators from `first` on, up to the first number without a row.
template <int first>
consteval int count_kinds() {
    if constexpr (requires { typename std::bool_constant<(row_of(StateKind{first}).name != nullptr)>; }) {
        return 1 + count_kinds<first + 1>();
    } else {
        return 0;
    }
}

}  // namespace detail

/// Number of kinds without `none`.
inline constexpr int num_state_kinds = detail::count_kinds<1>();

/// All kinds in the order in which a unit holds them.
inline constexpr auto state_kinds = [] {
    std::array<StateKind, num_state_kinds> all{};
    for (int k = 0; k < num_state_kinds; ++k) {
        all[k] = static_cast<StateKind>(k + 1);
    }
    return all;
}();

/// Returns `parameters`, `first_moment` ...; empty for `none`.
const char* to_string(StateKind kind);
/// Returns `weights`, `first_moment`, `second_moment`, `average` or `delayed_weights`.
const char* to_string(PieceKind kind);
/// Returns the kind of that name; empty if it does not exist.
std::optional<PieceKind> piece_kind_named(std::string_view name);

/// True if frozen tensors have the kind, which no step changes.
constexpr bool is_of_frozen(StateKind kind) {
    return kind != StateKind::none && row_of(kind).presence == Presence::frozen;
}

/// True for the master weights, the moments and the average.
constexpr bool is_optimizer_state(StateKind kind) {
    return kind != StateKind::none && row_of(kind).group == StateGroup::optimizer;
}

/// True if collectives use the kind in its home.
constexpr bool is_communicated(StateKind kind) {
    return kind != StateKind::none && row_of(kind).is_communicated;
}

/// True for parameters of a new run, their master and their average.
constexpr bool is_drawn_at_start(StateKind kind) {
    return kind != StateKind::none && row_of(kind).start == InitialContent::drawn;
}

/// True if the kind is zero until an update writes it.
///
/// False for master weights and for kinds that each step creates again.
constexpr bool is_zero_at_start(StateKind kind) {
    return kind != StateKind::none && row_of(kind).start == InitialContent::zero;
}

/// True if a checkpoint, or the master in it, provides the values.
constexpr bool is_restored(StateKind kind) {
    return kind != StateKind::none && row_of(kind).restore != Restore::written;
}

/// Relation of trained parameters to their master weights between two steps.
enum class Masters {
    none,     ///< the parameters are the master
    rounded,  ///< the parameters are the rounded master
    ahead,    ///< the master has one update more (overlap.delayed_update)
};

constexpr Masters masters_of(const spec::RunSpec& run) {
    if (run.overlap.delayed_update) {
        return Masters::ahead;
    }
    return run.precision.compute == spec::DType::f32 ? Masters::none : Masters::rounded;
}

/// Returns the kind of pieces that a checkpoint stores; empty if it stores none.
///
/// Parameters that are rounded from the master are not stored.
constexpr std::optional<PieceKind> piece_of(StateKind kind, Masters masters) {
    if (kind == StateKind::none) {
        return std::nullopt;
    }
    if (row_of(kind).restore == Restore::read_or_rounded) {
        switch (masters) {
            case Masters::none:
                break;
            case Masters::rounded:
                return std::nullopt;
            case Masters::ahead:
                return PieceKind::delayed_weights;
        }
    }
    return row_of(kind).piece;
}

/// Returns true if a run keeps `kind` between steps, for the tensors that have it.
bool is_kept(StateKind kind, const spec::RunSpec& run);

/// Returns the element type of a kind. \pre kind is not `none`
spec::DType type_of(StateKind kind, const spec::Precision& precision);
/// Returns the number of data ranks over which the kind is sharded. \pre it is kept between steps
int shard_degree(StateKind kind, const Spans& spans);
/// Returns the home of the kind.
///
/// Returns nullptr for `none` and for kinds without a home, which live within a step.
const spec::Home* home_of(StateKind kind, const spec::Tiers& tiers);

}  // namespace ziggurat::layout
