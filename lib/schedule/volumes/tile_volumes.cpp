#include "schedule/volumes/tile_volumes.hpp"

#include <algorithm>
#include <map>

#include "layout/families/adapters.hpp"
#include "schedule/adds_bias.hpp"
#include "schedule/volumes/recompute_inputs.hpp"

namespace ziggurat::schedule {
namespace {

using layout::PhaseKind;
using layout::Role;

bool is_weight(Role role) {
    return role == Role::weight || role == Role::table;
}

/// Count of the elements of tiled units that the passes of one micro-batch read.
class Asking {
  public:
    Asking(const spec::RunSpec& spec, const ModelLayout& model)
        : model_{model}, again_{computed_again(spec, model)} {}

    std::int64_t elements() const {
        std::int64_t sum = 0;
        for (const auto& units : model_.chunk_units) {
            for (const UnitId unit : units) {
                const auto& phases = model_.table.units[unit].phases;
                for (std::size_t p = 0; p < phases.size(); ++p) {
                    sum += of_phase(unit, static_cast<int>(p), phases[p]);
                }
            }
        }
        return sum;
    }

  private:
    template <class IsAsked>
    std::int64_t size_of(UnitId unit, const layout::Phase& phase, const IsAsked& is_asked) const {
        std::int64_t sum = 0;
        for (const auto& use : phase.parameters) {
            const UnitId owner = use.unit >= 0 ? use.unit : unit;
            const auto& described = model_.table.units[owner];
            const auto role = described.parameters[use.parameter].role;
            if (model_.tiling(owner).is_cut() && is_asked(role)) {
                sum += model_.flats[owner].parameter(use.parameter).size();
            }
        }
        return sum;
    }

    std::int64_t of_phase(UnitId unit, int number, const layout::Phase& phase) const {
        const bool asks_for_weights_alone = !adds_bias(model_, unit, phase);
        const auto forward = size_of(unit, phase, [&](Role role) {
            return is_weight(role) || layout::is_of_adapter(role) || !asks_for_weights_alone;
        });
        if (phase.kind == PhaseKind::logits) {
            const bool is_again = !model_.has_grid() || model_.passes_gradient_on(unit, number);
            return (is_again ? 2 : 1) * forward;
        }
        const auto redone = again_.find(unit);
        const bool is_redone = redone != again_.end() && redone->second.phases[number];
        const auto backward =
            model_.runs_backward(unit, number)
                ? size_of(unit, phase,
                          [&](Role role) {
                              return role == Role::gain || layout::is_of_adapter(role) ||
                                     (phase.kind == PhaseKind::linear && role == Role::weight &&
                                      model_.passes_gradient_on(unit, number));
                          })
                : 0;
        return forward * (is_redone ? 2 : 1) + backward;
    }

    const ModelLayout& model_;
    std::map<UnitId, RecomputeInputs> again_;
};

std::int64_t trained_elements(const ModelLayout& model, UnitId unit) {
    std::int64_t sum = 0;
    const auto& parameters = model.table.units[unit].parameters;
    for (std::size_t p = 0; p < parameters.size(); ++p) {
        const auto range = model.flats[unit].parameter(static_cast<int>(p));
        sum += parameters[p].is_trained ? range.size() : 0;
    }
    return sum;
}

}  // namespace

Volumes tile_volumes_of_axis(const spec::RunSpec& spec, const ModelLayout& model) {
    const auto& spans = model.spans;
    const auto microbatches = spec.train.micro_batches;
    Volumes sum;
    sum.gathers = microbatches * Asking{spec, model}.elements() * (spans.data / spans.parameters) *
                  (spans.parameters - 1);
    for (const UnitId unit : model.units) {
        if (!model.tiling(unit).is_cut() || !model.trains(unit)) {
            continue;
        }
        const auto trained = trained_elements(model, unit);
        switch (spec.sharding.reduce) {
            case spec::ReducePlan::at_end:
                sum.accumulated += trained * (spans.data - 1);
                break;
            case spec::ReducePlan::each_microbatch:
                sum.reduction += microbatches * trained * (spans.data - 1);
                break;
            case spec::ReducePlan::by_span:
                sum.reduction +=
                    microbatches * trained * (spans.data / spans.gradients) * (spans.gradients - 1);
                sum.accumulated += trained * (spans.data / spans.gradients - 1);
                break;
        }
        sum.accumulated += trained * (spans.data / spans.optimizer - 1);
    }
    sum.reduction += sum.accumulated;
    return sum;
}

}  // namespace ziggurat::schedule
