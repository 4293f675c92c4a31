#include "schedule/no_flush/no_flush_pass.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "schedule/passes/saved_for_backward.hpp"
#include "spec/weight_versions.hpp"

namespace ziggurat::schedule {
namespace {

/// True if the op is part of the forward of its micro-batch. The head runs in the slot of backward.
bool is_forward(const Op& op, const ModelLayout& model) {
    const bool is_head = op.unit >= 0 && model.table.units[op.unit].kind == layout::UnitKind::head;
    return op.direction == Direction::forward && !is_head;
}

/// True if the op receives the input of a stage.
bool receives_input(const Op& op, const ModelLayout& model) {
    return op.kind == OpKind::receive && op.purpose == Purpose::pipeline && is_forward(op, model);
}

class Window {
  public:
    Window(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : draft_{draft},
          program_{draft.program},
          model_{model},
          versions_{spec::weight_versions(spec, model.stage)} {
        // The last stage runs forward and backward of a micro-batch in one step: see activation_pass.
        if (are_any_away(spec) && versions_.ahead > 0) {
            homes_ = homes_of(program_, saved_for_backward(program_), spec.tiers.activations);
        }
    }

    void apply() {
        use_slots();
        remove_other_ops();
        use_stashes();
        remove_other_batches();
        program_.ahead = static_cast<int>(versions_.ahead);
        program_.microbatches = static_cast<int>(versions_.microbatches + versions_.ahead);
    }

  private:
    bool is_in_step(const Op& op) const {
        const auto i = op.microbatch;
        ZG_EXPECTS(i >= 0);
        if (!is_forward(op, model_)) {
            return i < versions_.microbatches;
        }
        // The stage before this one sends a value in the step in which it is received, one forward early.
        const auto first = versions_.ahead + (receives_input(op, model_) ? 1 : 0);
        return first <= i && i < first + versions_.microbatches;
    }

    void remove_other_ops() {
        std::erase_if(program_.ops, [this](const Op& op) { return !is_in_step(op); });
    }

    /// Values of a micro-batch that are needed after the step that made them.
    struct InFlight {
        BufferId buffer = -1;
        std::int64_t num_slots = 0;  ///< on the device; 1: no value outlives its micro-batch's forward
        spec::Tier home = spec::Tier::device;  ///< between forward and backward
    };

    /// Returns the values in flight, by micro-batch, in the same order for each.
    std::vector<std::vector<InFlight>> values_in_flight() const {
        std::vector<bool> in_forward(program_.buffers.size());
        std::vector<bool> in_backward(program_.buffers.size());
        std::vector<bool> is_received(program_.buffers.size());
        for (const auto& op : program_.ops) {
            auto& of_pass = is_forward(op, model_) ? in_forward : in_backward;
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    of_pass[operand.buffer] = true;
                    is_received[operand.buffer] = is_received[operand.buffer] || receives_input(op, model_);
                }
            }
        }
        std::vector<std::vector<InFlight>> found(program_.microbatches);
        for (BufferId b = 0; b < std::ssize(program_.buffers); ++b) {
            const auto& buffer = program_.buffers[b];
            if (buffer.lifetime != Lifetime::transient || buffer.microbatch < 0) {
                continue;
            }
            const bool is_saved = in_forward[b] && in_backward[b];
            const auto known = homes_.find(b);
            const auto home = is_saved && known != homes_.end() ? known->second : spec::Tier::device;
            const bool is_on_device = home == spec::Tier::device;
            // A receive is posted before the last use of the value that is received before it.
            const auto num_slots =
                (is_saved && is_on_device ? versions_.in_flight() : 1) + (is_received[b] ? 1 : 0);
            if (num_slots > 1 || !is_on_device) {
                found[buffer.microbatch].push_back({b, num_slots, home});
            }
        }
        // Passes may add the buffers of micro-batches in different orders.
        for (auto& of_microbatch : found) {
            std::ranges::stable_sort(of_microbatch, {}, [&](const InFlight& value) -> const std::string& {
                return program_.buffers[value.buffer].name;
            });
        }
        return found;
    }

    using BufferMap = std::map<BufferId, BufferId>;

    /// Replaces the values in flight of all micro-batches by slots, on the device or in their home.
    void use_slots() {
        const auto found = values_in_flight();
        BufferMap slot_of, back_of;
        for (std::size_t k = 0; k < found.front().size(); ++k) {
            const auto& first = found.front()[k];
            std::vector<BufferId> values;
            for (const auto& of_microbatch : found) {
                ZG_ENSURES(of_microbatch.size() == found.front().size());
                const auto& value = of_microbatch[k];
                const auto& buffer = program_.buffers[value.buffer];
                ZG_ENSURES(value.num_slots == first.num_slots && value.home == first.home);
                ZG_ENSURES(buffer.name == program_.buffers[first.buffer].name &&
                           buffer.bytes == program_.buffers[first.buffer].bytes);
                values.push_back(value.buffer);
            }
            if (first.home != spec::Tier::device) {
                use_slots_away(values, first.home, back_of);
            }
            if (first.num_slots > 1) {
                use_slots_on_device(values, first.num_slots, slot_of);
            }
        }
        for (const auto& rotation : program_.rotations) {
            for (const BufferId slot : rotation.slots) {
                program_.buffers[slot].microbatch = -1;
            }
        }
        for (auto& value : draft_.values_away) {
            const auto slot = slot_of.find(value.value);
            value.value = slot == slot_of.end() ? value.value : slot->second;
        }
        for (auto& op : program_.ops) {
            for (auto* operands : {&op.reads, &op.writes}) {
                for (auto& operand : *operands) {
                    const auto back = is_forward(op, model_) ? back_of.end() : back_of.find(operand.buffer);
                    const auto slot = slot_of.find(operand.buffer);
                    operand.buffer = back != back_of.end()   ? back->second
                                     : slot != slot_of.end() ? slot->second
                                                             : operand.buffer;
                }
            }
        }
    }

    Rotation rotation_of(std::int64_t num_slots) const {
        return {.slots = {}, .shift = static_cast<int>(versions_.microbatches % num_slots)};
    }

    /// Makes the values of the first micro-batches the slots of all.
    void use_slots_on_device(const std::vector<BufferId>& values,
                             std::int64_t num_slots,
                             BufferMap& slot_of) {
        auto rotation = rotation_of(num_slots);
        for (std::int64_t i = 0; i < std::ssize(values); ++i) {
            const auto slot = values[i % num_slots];
            slot_of[values[i]] = slot;
            if (i < num_slots) {
                rotation.slots.push_back(slot);
                program_.buffers[slot].lifetime = Lifetime::in_flight;
            }
        }
        program_.rotations.push_back(std::move(rotation));
    }

    /// Adds slots in the home of a value, and for each micro-batch the buffer that backward reads.
    void use_slots_away(const std::vector<BufferId>& values, spec::Tier home, BufferMap& back_of) {
        const auto num_slots = versions_.in_flight();
        auto rotation = rotation_of(num_slots);
        for (std::int64_t i = 0; i < std::ssize(values); ++i) {
            if (i < num_slots) {
                auto slot = program_.buffers[values[i]];
                slot.name += " away";
                slot.tier = home;
                slot.lifetime = Lifetime::in_flight;
                rotation.slots.push_back(program_.add_buffer(std::move(slot)));
            }
            auto back = program_.buffers[values[i]];
            back.name += " back";
            back.lifetime = Lifetime::transient;
            const auto made = program_.add_buffer(std::move(back));
            back_of[values[i]] = made;
            draft_.values_away.push_back(
                {static_cast<int>(i), values[i], rotation.slots[i % num_slots], made});
        }
        program_.rotations.push_back(std::move(rotation));
    }

    /// Makes backward read the version of forward, and keeps the current one for later steps.
    void use_stashes() {
        std::vector<Op> copies;
        for (const UnitId unit : model_.units) {
            if (!model_.trains(unit)) {
                continue;
            }
            auto& state = draft_.state.units[unit];
            for (auto& op : program_.ops) {
                const auto age = is_forward(op, model_) ? 0 : versions_.age(op.microbatch);
                for (auto& operand : op.reads) {
                    if (age > 0 && operand.buffer == state.full_parameters) {
                        if (state.stashes.empty()) {
                            add_stashes(state);
                        }
                        operand.buffer = state.stashes.at(age - 1).full_parameters;
                    }
                }
            }
            if (!state.stashes.empty()) {
                copies.push_back(copy_to(state.stashes.back().kept, unit, state[StateKind::parameters]));
                Rotation rotation{.slots = {}, .shift = static_cast<int>(state.stashes.size()) - 1};
                for (const auto& stash : state.stashes) {
                    rotation.slots.push_back(stash.kept);
                }
                program_.rotations.push_back(std::move(rotation));
            }
        }
        std::ranges::move(copies, std::back_inserter(program_.ops));
    }

    void add_stashes(UnitState& state) {
        const bool is_sharded = state.full_parameters != state[StateKind::parameters];
        for (int age = 1; age <= versions_.stashes(); ++age) {
            const auto steps = " of " + std::to_string(age) + (age == 1 ? " step before" : " steps before");
            auto stash = program_.buffers[state[StateKind::parameters]];
            stash.name += steps;
            stash.lifetime = Lifetime::in_flight;
            stash.state = StateKind::none;
            stash.consumer = MemoryCategory::stashes;
            const auto kept = program_.add_buffer(std::move(stash));
            auto full = kept;
            if (is_sharded) {
                auto placeholder = program_.buffers[state.full_parameters];
                placeholder.name += steps;
                full = program_.add_buffer(std::move(placeholder));
            }
            state.stashes.push_back({kept, full});
        }
    }

    /// Returns the copy of the current version, which is the newest stash of the next step.
    ///
    /// \param oldest  stash that no later micro-batch reads
    Op copy_to(BufferId oldest, UnitId unit, BufferId parameters) const {
        Op op;
        op.kind = OpKind::copy;
        op.purpose = Purpose::stash;
        op.unit = unit;
        op.label = "stash of " + model_.table.units[unit].name;
        op.reads.push_back(whole(program_, parameters, Role::input));
        op.writes.push_back(whole(program_, oldest, Role::output));
        return op;
    }

    /// Removes the tensors of micro-batches that the step does not have.
    void remove_other_batches() {
        auto& batch = program_.trainer_buffers.batch;
        const auto kept = static_cast<std::size_t>(versions_.microbatches + versions_.ahead);
        for (std::size_t i = kept; i < batch.size(); ++i) {
            for (const BufferId buffer : batch[i]) {
                if (buffer >= 0) {
                    program_.buffers[buffer].lifetime = Lifetime::transient;  // gets no memory
                }
            }
        }
        batch.resize(kept);
    }

    ProgramBuilder& draft_;
    Program& program_;
    const ModelLayout& model_;
    spec::WeightVersions versions_;
    std::map<int, spec::Tier> homes_;  ///< of the saved activations of all micro-batches; empty: the device
};

}  // namespace

void no_flush_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    ZG_EXPECTS(spec::has_no_flush(spec.parallel));
    Window{draft, spec, model}.apply();
}

}  // namespace ziggurat::schedule
