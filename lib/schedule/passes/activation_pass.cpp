#include "schedule/passes/activation_pass.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "schedule/passes/saved_for_backward.hpp"
#include "schedule/residency/away_moves.hpp"

namespace ziggurat::schedule {
namespace {

using spec::Tier;

/// Saved activations that leave the device.
class Departures {
  public:
    Departures(Program& program, int prefetch) : program_{program}, moves_{program, prefetch} {
        if (program.is_by_layer) {
            find_waits();
        }
    }

    /// Adds the transfers of one kept buffer to its home and back.
    ///
    /// A buffer stays on the device if backward needs it in the same unit pass in which forward last uses it
    /// (the head's pass), unless it waits for that pass.
    void add(const Kept& kept, Tier home) {
        const auto& passes = moves_.unit_passes();
        const bool is_wanted_at_once = passes.issued_at(kept.first_backward, 1) <= kept.last_forward;
        const int gone = std::min<int>(moves_.leaves_at(kept.produced), kept.first_backward);
        const auto waits = next_unit_.find(kept.buffer);
        const bool comes_for_forward = waits != next_unit_.end() && waits->second < kept.first_backward &&
                                       moves_.returns_at(waits->second, home) > gone;
        if (is_wanted_at_once && !comes_for_forward) {
            return;
        }
        const auto away = moves_.send_away(kept.buffer, home, gone);
        if (comes_for_forward) {
            moves_.bring_back(kept.buffer, away, waits->second, gone);
        }
        const bool stays =
            comes_for_forward && moves_.returns_at(kept.first_backward, home) <= kept.last_forward;
        if (!is_wanted_at_once && !stays) {
            moves_.bring_back(kept.buffer, away, kept.first_backward, gone);
        }
    }

    /// Adds the transfers of values whose forward or backward may be in another step.
    void add(const std::vector<ValueAway>& values) {
        const auto uses = uses_of(values);
        for (std::size_t v = 0; v < values.size(); ++v) {
            const auto& [microbatch, value, away, back] = values[v];
            const auto& use = uses[v];
            int gone = 0;
            if (use.produced >= 0) {
                gone = std::max<int>(moves_.leaves_at(use.produced), use.produced + 1);
                for (const OpId before : {use.first_backward, use.overwritten}) {
                    gone = before >= 0 ? std::min<int>(gone, before) : gone;
                }
                moves_.send(value, away, gone, microbatch);
            }
            if (use.first_backward >= 0) {
                moves_.fetch(away, back, use.first_backward, gone, microbatch);
            }
        }
    }

    void insert() { moves_.insert(); }

  private:
    /// Ops of a value that leaves the device; -1 if they are in another step.
    struct Use {
        OpId produced = -1;     ///< see Kept
        OpId overwritten = -1;  ///< the receive of a later micro-batch to the same slot
        OpId first_backward = -1;
    };

    std::vector<Use> uses_of(const std::vector<ValueAway>& values) const {
        std::unordered_map<int, std::vector<std::size_t>> by_buffer;
        for (std::size_t v = 0; v < values.size(); ++v) {
            by_buffer[values[v].value].push_back(v);
            by_buffer[values[v].back].push_back(v);
        }
        std::vector<Use> uses(values.size());
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& op = program_.ops[i];
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    const auto found = by_buffer.find(operand.buffer);
                    for (std::size_t k = 0; found != by_buffer.end() && k < found->second.size(); ++k) {
                        const auto v = found->second[k];
                        note(uses[v], values[v], operand.buffer, i, operands == &op.writes);
                    }
                }
            }
        }
        return uses;
    }

    void note(Use& use, const ValueAway& value, BufferId named, OpId i, bool writes) const {
        const auto& op = program_.ops[i];
        if (named == value.back) {
            use.first_backward = use.first_backward < 0 ? i : use.first_backward;
        } else if (op.microbatch != value.microbatch) {
            const bool is_next = writes && use.produced >= 0 && use.overwritten < 0;
            use.overwritten = is_next ? i : use.overwritten;
        } else if (op.kind != OpKind::receive && (writes || use.produced < 0)) {
            use.produced = i;
        }
    }

    /// Finds the first op of forward that reads a value in another unit than that which made it. By layer,
    /// passes of other micro-batches lie between them.
    void find_waits() {
        for (OpId i = 0; i < program_.ops.end_id(); ++i) {
            const auto& op = program_.ops[i];
            for (const auto& operand : op.reads) {
                const auto& buffer = program_.buffers[operand.buffer];
                if (buffer.unit >= 0 && op.unit >= 0 && buffer.unit != op.unit && buffer.microbatch >= 0) {
                    next_unit_.try_emplace(operand.buffer, i);
                }
            }
        }
    }

    Program& program_;
    AwayMoves moves_;
    std::unordered_map<int, OpId> next_unit_;  ///< by buffer; by layer only
};

}  // namespace

void activation_pass(ProgramBuilder& draft, const spec::RunSpec& spec) {
    if (!are_any_away(spec) || draft.program.variant != Variant::train) {
        return;
    }
    const auto kept = saved_for_backward(draft.program);
    const auto homes = homes_of(draft.program, kept, spec.tiers.activations);
    Departures departures{draft.program, spec.overlap.prefetch};
    for (const auto& one : kept) {
        if (homes.at(one.buffer) != Tier::device) {
            departures.add(one, homes.at(one.buffer));
        }
    }
    departures.add(draft.values_away);
    departures.insert();
}

}  // namespace ziggurat::schedule
