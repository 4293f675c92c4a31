#include "schedule/volumes/tensor_collectives.hpp"

#include <algorithm>

namespace ziggurat::schedule {
namespace {

using layout::Phase;
using layout::PhaseKind;
using layout::Placement;

class Counting {
  public:
    Counting(const ModelLayout& model, UnitId unit, const std::map<UnitId, RecomputeInputs>& needed)
        : model_{model},
          unit_{unit},
          described_{model.table.units[unit]},
          read_by_backward_{schedule::read_by_backward(model, unit)} {
        const auto found = needed.find(unit);
        again_ = found != needed.end() ? &found->second : nullptr;
    }

    UnitCollectives counted() {
        for (std::size_t p = 0; p < described_.phases.size(); ++p) {
            const auto& phase = described_.phases[p];
            for (const auto& use : phase.reads) {
                count_use(sums_.forward, use);
                if (again_ != nullptr && again_->phases[p]) {
                    count_use(sums_.recomputed, use);
                }
            }
            if (model_.runs_backward(unit_, static_cast<int>(p))) {
                count_backward(phase, static_cast<int>(p));
            }
        }
        if (ends_in_a_sum()) {
            count_sum(sums_.forward);
        }
        return sums_;
    }

  private:
    Placement placement(int value) const { return described_.values[value].placement; }
    bool gathers(const layout::ValueUse& use) const {
        return placement(use.value) == Placement::split_tokens && use.wanted == Placement::replicated;
    }
    bool sums(const layout::ValueUse& use) const {
        return placement(use.value) == Placement::partial && use.wanted != Placement::partial;
    }
    /// True if the unit's output is a partial sum (a lookup), which the next unit needs as a whole.
    bool ends_in_a_sum() const {
        return described_.output >= 0 && placement(described_.output) == Placement::partial;
    }
    bool has_sequence() const {
        const auto& units = model_.table.units;
        return units.back().values[units.back().input].placement == Placement::split_tokens;
    }
    void count_sum(TokenCollectives& of) const { ++(has_sequence() ? of.scatters : of.sums); }
    void count_use(TokenCollectives& of, const layout::ValueUse& use) const {
        of.gathers += gathers(use) ? 1 : 0;
        if (use.role == layout::Role::square_sums) {
            ++of.square_sums;
        } else if (sums(use)) {
            count_sum(of);
        }
    }

    void count_backward(const Phase& phase, int number) {
        auto& of = sums_.backward;
        if (phase.writes.empty()) {
            return;
        }
        // Each rank of a sum needs the whole gradient.
        if (phase.kind == PhaseKind::square_sum) {
            ++of.square_sums;
            return;
        }
        const int made = phase.writes.front().value;
        const bool is_summed = std::ranges::any_of(described_.phases, [&](const Phase& reader) {
            return std::ranges::any_of(
                reader.reads, [&](const layout::ValueUse& use) { return use.value == made && sums(use); });
        });
        of.gathers += has_sequence() && (is_summed || (ends_in_a_sum() && made == described_.output)) ? 1 : 0;
        const bool multiplies = phase.kind == PhaseKind::linear || phase.kind == PhaseKind::logits;
        if (!multiplies) {
            return;
        }
        const auto& input = phase.reads.front();
        // The head's input is already gathered.
        if (phase.kind == PhaseKind::linear && read_by_backward_[input.value]) {
            of.gathers += gathers(input) ? 1 : 0;
        }
        if (input.wanted == Placement::replicated && phase.writes.front().wanted == Placement::split_width &&
            model_.passes_gradient_on(unit_, number)) {
            count_sum(of);
        }
    }

    const ModelLayout& model_;
    int unit_;
    const layout::Unit& described_;
    std::vector<bool> read_by_backward_;
    const RecomputeInputs* again_ = nullptr;
    UnitCollectives sums_;
};

}  // namespace

UnitCollectives unit_collectives(const ModelLayout& model,
                                 UnitId unit,
                                 const std::map<UnitId, RecomputeInputs>& needed) {
    return model.tensor() == 1 ? UnitCollectives{} : Counting{model, unit, needed}.counted();
}

TokenCollectives token_collectives(const spec::RunSpec& spec, const ModelLayout& model, UnitId unit) {
    return unit_collectives(model, unit, recompute_inputs(spec, model)).all();
}

}  // namespace ziggurat::schedule
