#include "layout/state_kinds.hpp"

#include "spec/counts.hpp"
#include "spec/tensors.hpp"

namespace ziggurat::layout {

std::vector<StateKindRow> state_kinds(const spec::RunSpec& spec) {
    using ziggurat::spec::DType;
    const bool is_own_master = spec.precision.compute == DType::f32;
    std::vector<StateKindRow> rows;
    // A master is what a checkpoint stores; parameters of a lower precision are its rounding.
    rows.push_back({.name = "parameters",
                    .type = spec.precision.compute,
                    .span = SpanOf::parameters,
                    .home = spec.tiers.parameters,
                    .is_saved = is_own_master,
                    .on_relayout = is_own_master ? OnRelayout::reshard : OnRelayout::made_anew});
    if (spec::count_trained(spec) < spec::count_parameters(spec.model).total) {
        rows.push_back({.name = "frozen",
                        .type = spec.precision.compute,
                        .of_frozen = true,
                        .span = SpanOf::parameters,
                        .home = spec.tiers.parameters,
                        .is_saved = true,
                        .on_relayout = OnRelayout::reshard});
    }
    rows.push_back({.name = "gradients",
                    .type = spec.precision.gradient,
                    .span = SpanOf::gradients,
                    .home = spec.tiers.gradients,
                    .on_relayout = OnRelayout::made_anew});
    const auto optimizer_state = [&](const char* name) {
        return StateKindRow{.name = name,
                            .type = DType::f32,
                            .span = SpanOf::optimizer,
                            .home = spec.tiers.optimizer,
                            .is_saved = true,
                            .on_relayout = OnRelayout::reshard};
    };
    if (!is_own_master) {
        rows.push_back(optimizer_state("master"));
    }
    rows.push_back(optimizer_state("first_moment"));
    rows.push_back(optimizer_state("second_moment"));
    return rows;
}

int span_of(const StateKindRow& row, const spec::Sharding& sharding) {
    switch (row.span) {
        case SpanOf::parameters:
            return sharding.parameters;
        case SpanOf::gradients:
            return sharding.gradients;
        case SpanOf::optimizer:
            return sharding.optimizer;
    }
    return 1;
}

}  // namespace ziggurat::layout
