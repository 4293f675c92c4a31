#include "layout/state_kinds.hpp"

#include "base/contract.hpp"

namespace ziggurat::layout {

const char* to_string(StateKind kind) {
    return kind == StateKind::none ? "" : row_of(kind).name;
}

const char* to_string(PieceKind kind) {
    switch (kind) {
        case PieceKind::weights:
            return "weights";
        case PieceKind::first_moment:
            return "first_moment";
        case PieceKind::second_moment:
            return "second_moment";
        case PieceKind::average:
            return "average";
        case PieceKind::delayed_weights:
            return "delayed_weights";
    }
    return "";
}

std::optional<PieceKind> piece_kind_named(std::string_view name) {
    for (const auto piece : {PieceKind::weights, PieceKind::first_moment, PieceKind::second_moment,
                             PieceKind::average, PieceKind::delayed_weights}) {
        if (name == to_string(piece)) {
            return piece;
        }
    }
    return std::nullopt;
}

bool is_kept(StateKind kind, const spec::RunSpec& run) {
    switch (row_of(kind).presence) {
        case Presence::trained:
        case Presence::frozen:
            return true;
        case Presence::trained_if_master:
            return masters_of(run) != Masters::none;
        case Presence::trained_if_averaged:
            return run.train.average.is_on();
        case Presence::within_step:
            return false;
    }
    return false;
}

spec::DType type_of(StateKind kind, const spec::Precision& precision) {
    switch (row_of(kind).element) {
        case StateElement::compute:
            return precision.compute;
        case StateElement::gradient:
            return precision.gradient;
        case StateElement::f32:
            return spec::DType::f32;
    }
    return spec::DType::f32;
}

int shard_degree(StateKind kind, const Spans& spans) {
    ZG_EXPECTS(row_of(kind).presence != Presence::within_step);
    switch (row_of(kind).group) {
        case StateGroup::parameters:
            return spans.parameters;
        case StateGroup::gradients:
            return spans.gradients;
        case StateGroup::optimizer:
            return spans.optimizer;
    }
    return 1;
}

const spec::Home* home_of(StateKind kind, const spec::Tiers& tiers) {
    if (kind == StateKind::none || row_of(kind).presence == Presence::within_step) {
        return nullptr;
    }
    switch (row_of(kind).group) {
        case StateGroup::parameters:
            return &tiers.parameters;
        case StateGroup::gradients:
            return tiers.reuse ? &tiers.parameters : &tiers.gradients;
        case StateGroup::optimizer:
            return &tiers.optimizer;
    }
    return nullptr;
}

}  // namespace ziggurat::layout
