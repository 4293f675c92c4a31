#include "train/ops/unit_norms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <set>
#include <string>

#include "base/contract.hpp"
#include "base/exact_sum.hpp"
#include "comm/control.hpp"
#include "kernels/launch/step_inputs.hpp"

namespace ziggurat::train {
namespace {

using schedule::BufferId;
using schedule::Role;

/// Sums of squares of one unit.
struct UnitSums {
    ExactSum gradient, weights, update;

    static constexpr std::ptrdiff_t num_words = 3 * ExactSum::num_limbs;
    std::array<const ExactSum*, 3> all() const { return {&gradient, &weights, &update}; }
};

/// Sums that the ops of this rank leave in its host buffers.
class RankSums {
  public:
    RankSums(const schedule::Program& program, const state::TierMemory& memory)
        : program_{program}, memory_{memory} {
        for (const auto& op : program.ops) {
            for (const auto& written : op.writes) {
                if (written.role == Role::exact_sums || written.role == Role::update_sums) {
                    filled_.insert(written.buffer);
                }
            }
            repeats_ = repeats_ || (op.kind == schedule::OpKind::update && op.predicate);
        }
        if (repeats_) {
            const auto& inputs = program.buffer(program.trainer_buffers.update_inputs);
            repeats_ = memory.span<kernels::StepInputs>(inputs).front().redoes_updates != 0;
        }
    }

    UnitSums of(schedule::UnitId unit) const {
        const auto& buffers = program_.trainer_buffers;
        const bool has_own = !buffers.unit_clips.empty();
        const auto gradient = buffers.range_of_sum(unit);
        const auto range = [&](bool repeated) {
            return schedule::TrainerBuffers::range_of_update_sums(unit, repeated);
        };
        UnitSums sums;
        for (const BufferId buffer :
             {buffers.exact_sums_of(unit),
              has_own ? buffers.unit_clips[unit].sums_of_device : buffers.sums_of_device}) {
            add(buffer, gradient, {&sums.gradient});
        }
        // Only updates on the host are speculative.
        add(buffers.update_sums, range(repeats_), {&sums.weights, &sums.update});
        add(buffers.update_sums_of_device, range(false), {&sums.weights, &sums.update});
        return sums;
    }

  private:
    /// Adds the consecutive sums at the start of a range, if an op fills the buffer.
    void add(BufferId buffer, schedule::ByteRange range, std::initializer_list<ExactSum*> into) const {
        if (!filled_.contains(buffer)) {
            return;
        }
        const auto sums = memory_.span<ExactSum>(program_.buffer(buffer));
        const auto* from = &sums[static_cast<std::size_t>(range.offset / schedule::exact_sum_slot_bytes)];
        for (auto* sum : into) {
            sum->merge(*from++);
        }
    }

    const schedule::Program& program_;
    const state::TierMemory& memory_;
    std::set<BufferId> filled_;
    bool repeats_ = false;  ///< the step has repeated its speculative updates
};

double norm_of(const std::int64_t* words) {
    ExactSum::Limbs limbs{};
    std::copy_n(words, limbs.size(), limbs.begin());
    const ExactSum sum{limbs};
    return sum.is_finite() ? std::sqrt(sum.value()) : std::numeric_limits<double>::quiet_NaN();
}

bool is_trained(const layout::Unit& unit) {
    return std::ranges::any_of(unit.parameters, &layout::Parameter::is_trained);
}

/// Returns a name that sorts in the order of the layers, such as layer.03.
std::string display_name(const layout::Unit& unit, std::size_t num_units) {
    const auto digits = std::max(std::size_t{2}, std::to_string(num_units).size());
    return unit.kind == layout::UnitKind::layer ? fmt::format("layer.{:0{}}", unit.layer, digits) : unit.name;
}

}  // namespace

std::vector<UnitNorms> unit_norms(const comm::Context& world,
                                  const schedule::ModelLayout& model,
                                  const schedule::Program& program,
                                  const state::TierMemory& memory) {
    ZG_EXPECTS(program.trainer_buffers.update_sums >= 0);
    const auto& units = model.table.units;
    std::vector<std::int64_t> words(static_cast<std::size_t>(std::ssize(units) * UnitSums::num_words));
    const RankSums of_rank{program, memory};
    for (const auto unit : model.units) {
        if (!model.trains(unit)) {
            continue;
        }
        const auto sums = of_rank.of(unit);
        auto at = words.begin() + static_cast<std::ptrdiff_t>(unit) * UnitSums::num_words;
        for (const auto* sum : sums.all()) {
            at = std::ranges::copy(sum->limbs(), at).out;
        }
    }
    comm::all_reduce_sum(world, words);
    std::vector<UnitNorms> norms;
    const auto* at = words.data();
    for (const auto& unit : units) {
        if (is_trained(unit)) {
            norms.push_back({.unit = display_name(unit, units.size()),
                             .gradient = norm_of(at),
                             .weights = norm_of(at + ExactSum::num_limbs),
                             .update = norm_of(at + 2 * ExactSum::num_limbs)});
        }
        at += UnitSums::num_words;
    }
    return norms;
}

}  // namespace ziggurat::train
