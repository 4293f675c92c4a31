#include "schedule/passes/recompute_pass.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "spec/fates.hpp"

namespace ziggurat::schedule {
namespace {

using layout::UnitKind;

bool is_backward(Direction direction) {
    return direction == Direction::backward || direction == Direction::backward_input ||
           direction == Direction::backward_weight;
}

/// Ops of a range of units and of one micro-batch, as indices in list order.
struct Scope {
    std::vector<int> forward;
    std::vector<int> backward;
};

class Recomputation {
  public:
    Recomputation(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model)
        : program_{draft.program}, spec_{spec}, model_{model} {
        for (std::size_t chunk = 0; chunk < model.chunk_units.size(); ++chunk) {
            int layers = 0;
            for (const UnitId u : model.chunk_units[chunk]) {
                const auto kind = model.table.units[u].kind;
                if (kind == UnitKind::layer && model.runs_backward(u)) {
                    const int run = spec.recompute.kind == spec::RecomputeKind::full
                                        ? layers / spec.recompute.every
                                        : layers;
                    run_of_unit_[u] = {static_cast<int>(chunk), run};
                    ++layers;
                }
            }
        }
    }

    void apply() {
        for (const auto& [key, scope] : scopes()) {
            plan(scope);
        }
        std::vector<Op> out;
        out.reserve(program_.ops.size());
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            const auto clones = before_.find(static_cast<int>(i));
            if (clones != before_.end()) {
                std::move(clones->second.begin(), clones->second.end(), std::back_inserter(out));
            }
            out.push_back(std::move(program_.ops[i]));
        }
        program_.ops = std::move(out);
    }

  private:
    using Key = std::pair<std::pair<int, int>, int>;  // ((chunk, run), micro-batch)

    std::map<Key, Scope> scopes() const {
        std::map<Key, Scope> found;
        for (std::size_t i = 0; i < program_.ops.size(); ++i) {
            const auto& op = program_.ops[i];
            const auto run = run_of_unit_.find(op.unit);
            if (run == run_of_unit_.end()) {
                continue;
            }
            auto& scope = found[{run->second, op.microbatch}];
            if (op.direction == Direction::forward) {
                scope.forward.push_back(static_cast<int>(i));
            } else if (is_backward(op.direction)) {
                scope.backward.push_back(static_cast<int>(i));
            }
        }
        return found;
    }

    /// Buffers that backward or clones read, in the order in which they are found.
    struct Needed {
        std::set<int> all;
        /// Subset: inputs of clones that a rule of recompute.fates demands.
        std::set<int> by_fates;
    };

    bool is_saved(int buffer) const {
        return program_.buffers[buffer].consumer == MemoryCategory::activations;
    }

    bool is_of_selective(const Op& op) const {
        // Backward itself gathers the tokens of other ranks that it needs.
        return op.kind == OpKind::compute && model_.table.units[op.unit].phases[op.phase].redone_by_selective;
    }

    /// True if `op` is cloned for a needed buffer that it writes.
    ///
    /// Values that are not saved for backward have no fate of their own: they are computed again for clones
    /// that a rule demands.
    bool is_redone(const Op& op, int buffer, const Needed& needed) const {
        const auto& fate = program_.buffers[buffer].fate;
        if (is_saved(buffer) && fate) {
            return *fate == spec::ActivationFate::recompute;
        }
        switch (spec_.recompute.kind) {
            case spec::RecomputeKind::none:
                return !is_saved(buffer);
            case spec::RecomputeKind::selective:
                return is_of_selective(op) || (!is_saved(buffer) && needed.by_fates.contains(buffer));
            case spec::RecomputeKind::full:
                return true;
        }
        return false;
    }

    /// Selects the ops to recompute from the last to the first, then clones them in list order.
    void plan(const Scope& scope) {
        if (scope.backward.empty()) {
            return;
        }
        std::set<int> made_here;
        for (const int i : scope.forward) {
            for (const auto& operand : program_.ops[i].writes) {
                made_here.insert(operand.buffer);
            }
        }
        Needed needed;
        const auto add_reads = [&](const Op& op, bool is_by_fates) {
            for (const auto& operand : op.reads) {
                if (made_here.contains(operand.buffer)) {
                    needed.all.insert(operand.buffer);
                    if (is_by_fates) {
                        needed.by_fates.insert(operand.buffer);
                    }
                }
            }
        };
        for (const int i : scope.backward) {
            add_reads(program_.ops[i], false);
        }
        std::vector<int> chosen;
        for (auto at = scope.forward.rbegin(); at != scope.forward.rend(); ++at) {
            const auto& op = program_.ops[*at];
            bool is_chosen = false;
            bool is_by_fates = false;
            for (const auto& [buffer, role, runs] : op.writes) {
                if (needed.all.contains(buffer) && is_redone(op, buffer, needed)) {
                    is_chosen = true;
                    is_by_fates = is_by_fates || needed.by_fates.contains(buffer) ||
                                  program_.buffers[buffer].fate == spec::ActivationFate::recompute;
                }
            }
            if (is_chosen) {
                chosen.push_back(*at);
                // The inputs of ops that kind selective repeats are saved, as without fates.
                const bool is_by_kind =
                    spec_.recompute.kind == spec::RecomputeKind::selective && is_of_selective(op);
                add_reads(op, is_by_fates && !is_by_kind);
            }
        }
        std::reverse(chosen.begin(), chosen.end());
        clone(scope, chosen, needed);
    }

    void clone(const Scope& scope, const std::vector<int>& chosen, const Needed& needed) {
        std::map<int, int> copy_of;    // buffer -> that of the clones
        std::map<int, int> unread_of;  // the same for buffers that stay saved: no op reads the copy
        auto& clones = before_[scope.backward.front()];
        for (const int i : chosen) {
            auto op = program_.ops[i];
            op.direction = Direction::recompute;
            op.label += " again";
            for (auto& operand : op.reads) {
                auto& read = program_.buffers[operand.buffer];
                if (!copy_of.contains(operand.buffer) && read.consumer == MemoryCategory::working_buffers) {
                    read.consumer = MemoryCategory::activations;  // saved for the clone
                }
            }
            rename(op.reads, copy_of);
            for (auto& operand : op.writes) {
                const int original = operand.buffer;
                const bool stays_saved = !copy_of.contains(original) && is_saved(original) &&
                                         !is_redone(program_.ops[i], original, needed);
                auto& copies = stays_saved ? unread_of : copy_of;
                if (!copies.contains(original)) {
                    copies[original] = stays_saved ? unread_copy(original) : copy_buffer(original);
                }
                operand.buffer = copies.at(original);
            }
            clones.push_back(std::move(op));
        }
        for (const int i : scope.backward) {
            rename(program_.ops[i].reads, copy_of);
        }
    }

    static void rename(std::vector<Operand>& operands, const std::map<int, int>& copy_of) {
        for (auto& operand : operands) {
            const auto copy = copy_of.find(operand.buffer);
            if (copy != copy_of.end()) {
                operand.buffer = copy->second;
            }
        }
    }

    /// Adds a buffer like the original. The original then no longer has to be saved.
    int copy_buffer(int original) {
        auto& dropped = program_.buffers[original];
        if (dropped.consumer == MemoryCategory::activations) {
            dropped.consumer = MemoryCategory::working_buffers;
        }
        auto copy = dropped;
        copy.name += " again";
        return program_.add_buffer(std::move(copy));
    }

    /// Adds a buffer for a value that a clone computes again, although the original stays saved.
    int unread_copy(int original) {
        auto copy = program_.buffers[original];
        copy.consumer = MemoryCategory::working_buffers;
        copy.name += " again";
        return program_.add_buffer(std::move(copy));
    }

    Program& program_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    std::map<int, std::pair<int, int>> run_of_unit_;  // layer -> (chunk, run)
    std::map<int, std::vector<Op>> before_;           // clones by the op that they precede
};

}  // namespace

void recompute_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    const bool is_any_redone = spec.recompute.kind != spec::RecomputeKind::none ||
                               spec::has_fate(spec.recompute.fates, spec::ActivationFate::recompute);
    if (!is_any_redone || draft.program.variant != Variant::train) {
        return;
    }
    Recomputation{draft, spec, model}.apply();
}

}  // namespace ziggurat::schedule
