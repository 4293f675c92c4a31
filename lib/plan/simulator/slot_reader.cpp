#include "plan/simulator/slot_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace ziggurat::plan {
namespace {

using schedule::ModelLayout;
using schedule::Program;

/// Reads the durations of slots from a simulated step.
class SlotReader {
  public:
    SlotReader(const Program& program, const ModelLayout& model, const SimulatedSteps& steps)
        : program_{program}, steps_{steps}, chunk_of_unit_(model.table.units.size(), -1) {
        for (std::size_t chunk = 0; chunk < model.chunk_units.size(); ++chunk) {
            for (const auto unit : model.chunk_units[chunk]) {
                chunk_of_unit_[static_cast<std::size_t>(static_cast<int>(unit))] = static_cast<int>(chunk);
            }
        }
        made_.forward.resize(model.chunk_units.size());
        made_.backward.resize(model.chunk_units.size());
        if (std::ranges::any_of(program.ops, &schedule::Op::is_deferred)) {
            made_.backward_weight.resize(model.chunk_units.size());
        }
    }

    StageSlots read() {
        if (program_.is_by_layer) {
            return read_by_layer();
        }
        find_ends();
        std::map<std::pair<int, Pass>, std::vector<double>> durations;
        double before = steps_.begin;
        for (const auto& [slot, end] : ends_) {
            durations[{slot.chunk, slot.pass}].push_back(std::max(end - before, 0.0));
            before = std::max(end, before);
        }
        double of_slots = 0;
        for (const auto& [key, values] : durations) {
            const auto [chunk, pass] = key;
            const double each = lower_median(values);
            of(pass).at(chunk) = each;
            of_slots += each * static_cast<double>(values.size());
        }
        made_.others = std::max(steps_.step_seconds - of_slots, 0.0);
        return std::move(made_);
    }

  private:
    using Pass = schedule::Slot::Pass;

    std::vector<double>& of(Pass pass) {
        return pass == Pass::forward    ? made_.forward
               : pass == Pass::backward ? made_.backward
                                        : made_.backward_weight;
    }

    StageSlots read_by_layer() {
        double forward_end = steps_.begin;
        double backward_end = steps_.begin;
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            const auto& op = program_.ops[i];
            if (op.kind != schedule::OpKind::compute || op.microbatch < 0) {
                continue;
            }
            const bool is_forward =
                op.direction == schedule::Direction::forward && op.unit <= program_.layers;
            auto& last = is_forward ? forward_end : backward_end;
            last = std::max(last, steps_.times[steps_.step][0][i].end);
        }
        const double microbatches = program_.microbatches;
        made_.forward.front() = (forward_end - steps_.begin) / microbatches;
        made_.backward.front() = std::max(backward_end - forward_end, 0.0) / microbatches;
        made_.others = std::max(
            steps_.step_seconds - microbatches * (made_.forward.front() + made_.backward.front()), 0.0);
        return std::move(made_);
    }

    /// Finds the end of each slot, in the order of the compute lane.
    ///
    /// The head computes logits and gradients in turn, block by block, in the backward slot. So all ops of a
    /// micro-batch after its first backward op, and after its forward slot was left, count as backward.
    void find_ends() {
        std::set<std::pair<int, int>> has_begun;
        std::set<std::pair<int, int>> has_turned;
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            const auto& op = program_.ops[i];
            const bool is_pass =
                (op.kind == schedule::OpKind::compute || op.kind == schedule::OpKind::loss) &&
                op.microbatch >= 0 && op.unit >= 0;
            const int chunk =
                is_pass ? chunk_of_unit_[static_cast<std::size_t>(static_cast<int>(op.unit))] : -1;
            if (chunk < 0) {
                continue;
            }
            if (op.direction != schedule::Direction::forward) {
                has_turned.insert({op.microbatch, chunk});
            }
            const bool is_backward = has_turned.contains({op.microbatch, chunk});
            schedule::Slot key{op.is_deferred ? Pass::backward_weight
                               : is_backward  ? Pass::backward
                                              : Pass::forward,
                               op.microbatch, chunk};
            const bool continues = !ends_.empty() && ends_.back().first == key;
            if (key.pass == Pass::forward && !continues && !has_begun.insert({op.microbatch, chunk}).second) {
                has_turned.insert({op.microbatch, chunk});
                key.pass = Pass::backward;
            }
            const double end = steps_.times[steps_.step][0][i].end;
            if (ends_.empty() || ends_.back().first != key) {
                ends_.emplace_back(key, end);
            }
            ends_.back().second = std::max(ends_.back().second, end);
        }
    }

    const Program& program_;
    const SimulatedSteps& steps_;
    std::vector<int> chunk_of_unit_;
    std::vector<std::pair<schedule::Slot, double>> ends_;
    StageSlots made_;
};

}  // namespace

double lower_median(std::vector<double> values) {
    const auto middle = values.begin() + (std::ssize(values) - 1) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

StageSlots read_slots(const Program& program, const ModelLayout& model, const SimulatedSteps& steps) {
    return SlotReader{program, model, steps}.read();
}

}  // namespace ziggurat::plan
