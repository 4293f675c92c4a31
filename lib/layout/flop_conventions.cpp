#include "layout/flop_conventions.hpp"

#include <stdexcept>

#include "layout/counts.hpp"
#include "layout/families/family.hpp"

namespace ziggurat::layout {
namespace {

/// Returns factor L h^2 (1 + attention s/h + head V/Lh).
double of_gpt(const spec::RunSpec& run, double factor, double attention, double head) {
    const auto h = static_cast<double>(run.model.hidden);
    const auto layers = static_cast<double>(run.model.layers);
    const auto s = static_cast<double>(run.data.seq);
    const auto vocab = static_cast<double>(run.model.vocab);
    return factor * layers * h * h * (1 + attention * s / h + head * vocab / (layers * h));
}

/// Returns three times the FLOP of forward, if a query attends to `keys` keys.
double of_model(const spec::RunSpec& run, double keys) {
    double of_layer = 0;
    for (const auto& phase : layer_unit(run.model, 0, {}).phases) {
        of_layer += phase.flops_per_token + phase.flops_per_token_and_key * keys;
    }
    const auto head = 2.0 * static_cast<double>(run.model.hidden) * static_cast<double>(run.model.vocab);
    return 3 * (static_cast<double>(run.model.layers) * of_layer + head);
}

}  // namespace

double flops_per_token_by(FlopConvention convention, const spec::RunSpec& run) {
    switch (convention) {
        case FlopConvention::full_recompute:
            return of_gpt(run, 96, 1.0 / 6, 1.0 / 16);
        case FlopConvention::gpt_model:
            return of_gpt(run, 72, 1.0 / 6, 1.0 / 12);
        case FlopConvention::selective_recompute:
            return of_gpt(run, 72, 1.0 / 3, 1.0 / 12);
        case FlopConvention::full_attention:
            return of_model(run, static_cast<double>(run.data.seq));
        case FlopConvention::causal_attention:
            return of_model(run, static_cast<double>(run.data.seq) / 2);
        case FlopConvention::weights_with_recompute:
            return 8.0 * static_cast<double>(count_parameters(run.model).total);
    }
    throw std::invalid_argument{"no FlopConvention"};
}

}  // namespace ziggurat::layout
