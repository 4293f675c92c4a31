#include "schedule/passes/recompute_pass.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

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

    bool may_clone(const Op& op) const {
        if (spec_.recompute.kind == spec::RecomputeKind::full) {
            return true;
        }
        if (op.kind != OpKind::compute) {
            return false;  // backward itself gathers the tokens of other ranks that it needs
        }
        const auto& unit = model_.table.units[op.unit];
        return unit.phases[op.phase].redone_by_selective;
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
        std::set<int> needed;
        for (const int i : scope.backward) {
            for (const auto& operand : program_.ops[i].reads) {
                if (made_here.contains(operand.buffer)) {
                    needed.insert(operand.buffer);
                }
            }
        }
        std::vector<int> chosen;
        for (auto at = scope.forward.rbegin(); at != scope.forward.rend(); ++at) {
            const auto& op = program_.ops[*at];
            const bool is_needed = std::any_of(op.writes.begin(), op.writes.end(),
                                               [&](const Operand& o) { return needed.contains(o.buffer); });
            if (!is_needed || !may_clone(op)) {
                continue;
            }
            chosen.push_back(*at);
            for (const auto& operand : op.reads) {
                if (made_here.contains(operand.buffer)) {
                    needed.insert(operand.buffer);
                }
            }
        }
        std::reverse(chosen.begin(), chosen.end());
        clone(scope, chosen);
    }

    void clone(const Scope& scope, const std::vector<int>& chosen) {
        std::map<int, int> copy_of;  // buffer -> that of the clones
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
                auto& copy = copy_of.try_emplace(operand.buffer, -1).first->second;
                if (copy < 0) {
                    copy = copy_buffer(operand.buffer);
                }
                operand.buffer = copy;
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

    Program& program_;
    const spec::RunSpec& spec_;
    const ModelLayout& model_;
    std::map<int, std::pair<int, int>> run_of_unit_;  // layer -> (chunk, run)
    std::map<int, std::vector<Op>> before_;           // clones by the op that they precede
};

}  // namespace

void recompute_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.recompute.kind == spec::RecomputeKind::none || draft.program.variant != Variant::train) {
        return;
    }
    Recomputation{draft, spec, model}.apply();
}

}  // namespace ziggurat::schedule
