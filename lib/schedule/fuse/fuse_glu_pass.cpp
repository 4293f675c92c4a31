#include "schedule/fuse/fuse_glu_pass.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "layout/families/gated_unit.hpp"

namespace ziggurat::schedule {
namespace {

class GluFusion {
  public:
    GluFusion(ProgramBuilder& draft, const ModelLayout& model) : program_{draft.program}, model_{model} {}

    void apply() {
        const auto pairs = find_pairs();
        if (pairs.empty()) {
            return;
        }
        find_users();
        for (const auto& [clone, gradient] : pairs) {
            fuse(clone, gradient);
        }
        reorder();
    }

  private:
    using Pass = std::tuple<UnitId, int, int>;  ///< unit, phase, micro-batch

    /// Returns the clones of forward ops, each with the gradient of its pass.
    std::vector<std::pair<OpId, OpId>> find_pairs() const {
        std::vector<std::pair<OpId, OpId>> pairs;
        std::map<Pass, OpId> clones;
        for (OpId at{0}; at < std::ssize(program_.ops); ++at) {
            const auto& op = program_.ops[at];
            const Pass pass{op.unit, op.phase, op.microbatch};
            if (!is_glu(op, model_)) {
                continue;
            }
            if (op.direction == Direction::recompute) {
                clones[pass] = at;
            } else if (op.direction == Direction::backward && clones.contains(pass)) {
                pairs.push_back({clones.at(pass), at});
            }
        }
        return pairs;
    }

    void find_users() {
        users_.resize(program_.buffers.size());
        for (OpId at{0}; at < std::ssize(program_.ops); ++at) {
            const auto& op = program_.ops[at];
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    users_[operand.buffer].push_back(at);
                }
            }
        }
    }

    /// True if `op` can follow the gradient at `end`: ops between them neither write what it reads nor use
    /// what it writes.
    bool may_follow(const Op& op, OpId at, OpId end) const {
        if (!can_follow_glu_gradient(op, model_) || at > end) {
            return false;
        }
        const auto users_between = [&](const Operand& operand) {
            const auto& users = users_[operand.buffer];
            return std::ranges::subrange{std::ranges::upper_bound(users, at),
                                         std::ranges::lower_bound(users, end)};
        };
        const auto is_written_between = [&](const Operand& operand) {
            return std::ranges::any_of(users_between(operand), [&](OpId user) {
                const auto& writes = program_.ops[user].writes;
                return std::ranges::find(writes, operand.buffer, &Operand::buffer) != writes.end();
            });
        };
        return std::ranges::none_of(op.reads, is_written_between) &&
               std::ranges::all_of(op.writes, [&](const Operand& operand) {
                   return std::ranges::empty(users_between(operand));
               });
    }

    void fuse(OpId clone, OpId gradient) {
        auto& op = program_.ops[gradient];
        const auto* const output = program_.find_write(program_.ops[clone], Role::output);
        const auto* const d_output = program_.find_read(op, Role::d_output);
        const auto active = output->buffer;
        const bool is_last_use = users_[d_output->buffer].back() == gradient;
        auto readers = users_[active];
        std::erase(readers, clone);
        const bool is_for_weights = std::ranges::all_of(readers, [&](OpId reader) {
            const auto& product = program_.ops[reader];
            return product.unit == op.unit && product.microbatch == op.microbatch &&
                   may_follow(product, reader, gradient);
        });
        if (!is_last_use || !is_for_weights || output->runs != d_output->runs ||
            program_.buffers[active].bytes != program_.buffers[d_output->buffer].bytes) {
            return;
        }
        const Operand written{d_output->buffer, Role::activated, d_output->runs};
        op.writes.push_back(written);
        removed_.insert(clone);
        for (const auto reader : readers) {
            for (auto& operand : program_.ops[reader].reads) {
                operand.buffer = operand.buffer == active ? written.buffer : operand.buffer;
            }
            removed_.insert(reader);
            followers_[gradient].push_back(reader);
        }
        write_over_input(gradient);
    }

    /// Lets a gradient write d_input over the input, if recomputation made the input for it alone.
    void write_over_input(OpId gradient) {
        const auto input = program_.find_read(program_.ops[gradient], Role::input)->buffer;
        const auto d_input = program_.find_write(program_.ops[gradient], Role::d_input)->buffer;
        const auto& made = users_[input];
        const bool is_made_again = std::ranges::all_of(made, [&](OpId user) {
            const auto& op = program_.ops[user];
            return user == gradient || (op.kind == OpKind::compute && op.direction == Direction::recompute);
        });
        const bool is_used_by_kernels = std::ranges::all_of(users_[d_input], [&](OpId user) {
            return user >= gradient && program_.ops[user].kind == OpKind::compute;
        });
        if (!is_made_again || !is_used_by_kernels || made.back() != gradient ||
            program_.buffers[input].bytes != program_.buffers[d_input].bytes) {
            return;
        }
        for (const auto user : users_[d_input]) {
            for (auto* operands : {&program_.ops[user].reads, &program_.ops[user].writes}) {
                for (auto& operand : *operands) {
                    operand.buffer = operand.buffer == d_input ? input : operand.buffer;
                }
            }
        }
    }

    void reorder() {
        std::vector<Op> ops;
        ops.reserve(program_.ops.size());
        for (OpId at{0}; at < std::ssize(program_.ops); ++at) {
            if (!removed_.contains(at)) {
                ops.push_back(std::move(program_.ops[at]));
            }
            if (const auto followers = followers_.find(at); followers != followers_.end()) {
                for (const auto follower : followers->second) {
                    ops.push_back(std::move(program_.ops[follower]));
                }
            }
        }
        program_.ops = std::move(ops);
    }

    Program& program_;
    const ModelLayout& model_;
    std::vector<std::vector<OpId>> users_;         ///< by buffer, in the order of the list before the fusion
    std::set<OpId> removed_;                       ///< from their places
    std::map<OpId, std::vector<OpId>> followers_;  ///< by the op that they follow
};

}  // namespace

bool is_glu(const Op& op, const ModelLayout& model) {
    if (op.kind != OpKind::compute || op.phase < 0) {
        return false;
    }
    return layout::is_gated_unit(model.table.units[op.unit].phases[op.phase].kind);
}

bool can_follow_glu_gradient(const Op& reader, const ModelLayout& model) {
    return reader.kind == OpKind::compute && reader.direction == Direction::backward_weight &&
           !reader.is_deferred && reader.segment < 0 && reader.column_end == 0 &&
           !model.table.units[reader.unit].phases[reader.phase].is_of_grid;
}

void fuse_glu_pass(ProgramBuilder& draft, const ModelLayout& model) {
    if (draft.program.variant == Variant::train) {
        GluFusion{draft, model}.apply();
    }
}

}  // namespace ziggurat::schedule
