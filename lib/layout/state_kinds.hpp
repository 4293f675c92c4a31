/// The kinds of state that a run keeps of its parameters, as one table.
///
/// All that differs between kinds is said in `row_of`, and whoever deals with state reads it there: the
/// buffers of a program and their homes, what a checkpoint saves and how a resume restores it, what a fresh
/// run begins with, the memory table, the bytes moved between tiers. A new kind is an enumerator and a row;
/// tests/unit/layout/state_kinds_test.cpp and tests/unit/schedule/state_kinds_test.cpp find it where a
/// program does not keep, use, save or restore it as its row says.
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

/// `none` is the kind of bytes that are no state, such as activations.
enum class StateKind { none, parameters, frozen, gradients, master, first_moment, second_moment, secondary };

/// Kinds of pieces in a checkpoint, each a group of its files.
enum class PieceKind {
    weights,  ///< the master weights, or the parameters of a frozen tensor
    first_moment,
    second_moment,
};

/// Kinds with one shard degree (`sharding.*`), one home (`tiers.*`), and one line of the memory table.
enum class StateGroup { parameters, gradients, optimizer };

/// The element type of a kind, as `precision` gives it.
enum class StateElement { compute, gradient, f32 };

/// Tensors that have the kind, and the programs that keep it.
enum class Presence {
    trained,          ///< trained tensors, from step to step
    trained_if_bf16,  ///< the same where the compute type is not f32: otherwise parameters are the master
    frozen,           ///< tensors that train.only leaves out, from step to step
    within_step,      ///< none from step to step: a pass makes it and its last reader ends it
};

/// Values before the first step.
enum class Start {
    drawn,    ///< by state::set_initial_values
    zero,     ///< as memory and files are when they are made
    written,  ///< by the first step, before anything reads them
};

/// Values after a resume.
enum class Restore {
    read,             ///< from the checkpoint; one without them is refused
    read_or_rounded,  ///< the same, but rounded from the master where there is one, which then is saved alone
    read_or_zero,     ///< from the checkpoint; zero for tensors that were frozen when it was written
    written,          ///< by the next step, before anything reads them
};

/// One row of the table. No member has a default, so a new row or column without a value does not compile.
struct StateKindRow {
    const char* name;  ///< in names of buffers, printed programs and messages
    StateGroup group;
    StateElement element;
    Presence presence;
    std::optional<PieceKind> piece;  ///< of a checkpoint; none: it is never saved
    Start start;
    Restore restore;
    bool is_communicated;  ///< collectives read or write it where it is kept
};

/// The row of a kind. \pre kind is not `none`
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
                    .start = Start::drawn,
                    .restore = Restore::read_or_rounded,
                    .is_communicated = true};
        case StateKind::frozen:  // no step changes it, so that it is its own master in any type
            return {.name = "frozen",
                    .group = StateGroup::parameters,
                    .element = StateElement::compute,
                    .presence = Presence::frozen,
                    .piece = PieceKind::weights,
                    .start = Start::drawn,
                    .restore = Restore::read,
                    .is_communicated = true};
        case StateKind::gradients:
            return {.name = "gradients",
                    .group = StateGroup::gradients,
                    .element = StateElement::gradient,
                    .presence = Presence::trained,
                    .piece = std::nullopt,
                    .start = Start::written,
                    .restore = Restore::written,
                    .is_communicated = true};
        case StateKind::master:
            return {.name = "master",
                    .group = StateGroup::optimizer,
                    .element = StateElement::f32,
                    .presence = Presence::trained_if_bf16,
                    .piece = PieceKind::weights,
                    .start = Start::drawn,
                    .restore = Restore::read,
                    .is_communicated = false};
        case StateKind::first_moment:
            return {.name = "first_moment",
                    .group = StateGroup::optimizer,
                    .element = StateElement::f32,
                    .presence = Presence::trained,
                    .piece = PieceKind::first_moment,
                    .start = Start::zero,
                    .restore = Restore::read_or_zero,
                    .is_communicated = false};
        case StateKind::second_moment:
            return {.name = "second_moment",
                    .group = StateGroup::optimizer,
                    .element = StateElement::f32,
                    .presence = Presence::trained,
                    .piece = PieceKind::second_moment,
                    .start = Start::zero,
                    .restore = Restore::read_or_zero,
                    .is_communicated = false};
        case StateKind::secondary:  // hpZ's second copy of the parameters, for backward
            return {.name = "secondary",
                    .group = StateGroup::parameters,
                    .element = StateElement::compute,
                    .presence = Presence::within_step,
                    .piece = std::nullopt,
                    .start = Start::written,
                    .restore = Restore::written,
                    .is_communicated = true};
    }
    throw std::invalid_argument{"no kind of state"};
}

namespace detail {

/// Enumerators from `first` on, up to the first number that has no row.
template <int first>
consteval int count_kinds() {
    if constexpr (requires { typename std::bool_constant<(row_of(StateKind{first}).name != nullptr)>; }) {
        return 1 + count_kinds<first + 1>();
    } else {
        return 0;
    }
}

}  // namespace detail

/// Kinds besides `none`.
inline constexpr int num_state_kinds = detail::count_kinds<1>();

/// All kinds in the order in which a unit's are held.
inline constexpr auto state_kinds = [] {
    std::array<StateKind, num_state_kinds> all{};
    for (int k = 0; k < num_state_kinds; ++k) {
        all[static_cast<std::size_t>(k)] = static_cast<StateKind>(k + 1);
    }
    return all;
}();

/// `parameters`, `first_moment` ...; empty for `none`.
const char* to_string(StateKind kind);
/// `weights`, `first_moment`, `second_moment`.
const char* to_string(PieceKind kind);
/// The kind of that name; nothing when there is none.
std::optional<PieceKind> piece_kind_named(std::string_view name);

/// Frozen tensors have it, and no step changes it.
constexpr bool is_of_frozen(StateKind kind) {
    return kind != StateKind::none && row_of(kind).presence == Presence::frozen;
}

/// The master weights and the moments.
constexpr bool is_optimizer_state(StateKind kind) {
    return kind != StateKind::none && row_of(kind).group == StateGroup::optimizer;
}

/// Collectives touch it where it is kept.
constexpr bool is_communicated(StateKind kind) {
    return kind != StateKind::none && row_of(kind).is_communicated;
}

/// Parameters of a fresh run, and their master.
constexpr bool is_drawn_at_start(StateKind kind) {
    return kind != StateKind::none && row_of(kind).start == Start::drawn;
}

/// Zero until an update writes it: master weights are not, nor is what each step makes anew.
constexpr bool is_zero_at_start(StateKind kind) {
    return kind != StateKind::none && row_of(kind).start == Start::zero;
}

/// A checkpoint, or the master in one, gives its values.
constexpr bool is_restored(StateKind kind) {
    return kind != StateKind::none && row_of(kind).restore != Restore::written;
}

/// Whether a checkpoint has the kind itself, rather than the master that it is rounded from.
///
/// \param has_master  trained parameters have a master beside them
constexpr bool is_saved(StateKind kind, bool has_master) {
    return kind != StateKind::none && row_of(kind).piece.has_value() &&
           !(has_master && row_of(kind).restore == Restore::read_or_rounded);
}

/// Whether trained parameters have a master beside them.
constexpr bool has_master(const spec::Precision& precision) {
    return precision.compute != spec::DType::f32;
}

/// Whether a run keeps `kind` from step to step, of the tensors that it is of.
bool is_kept(StateKind kind, const spec::Precision& precision);

/// \pre kind is not `none`
spec::DType type_of(StateKind kind, const spec::Precision& precision);
/// Data ranks over which the kind is cut. \pre it is kept from step to step
int shard_degree(StateKind kind, const Spans& spans);
/// The home of the kind; null for `none` and for what no deck gives a home: it lives within a step.
const spec::Home* home_of(StateKind kind, const spec::Tiers& tiers);

}  // namespace ziggurat::layout
