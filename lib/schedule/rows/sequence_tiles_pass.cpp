#include "schedule/rows/sequence_tiles_pass.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/rows/row_parts.hpp"
#include "schedule/transfer_runs.hpp"

namespace ziggurat::schedule {
namespace {

using layout::PhaseKind;

bool is_activation(PhaseKind kind) {
    return kind == PhaseKind::gelu || kind == PhaseKind::gelu_erf || kind == PhaseKind::swiglu ||
           kind == PhaseKind::geglu;
}

/// Returns the phases of a unit's MLP: the product, its activation and the product that follows.
std::set<int> mlp_phases(const layout::Unit& unit) {
    std::set<int> phases;
    for (int p = 1; p + 1 < std::ssize(unit.phases); ++p) {
        if (is_activation(unit.phases[p].kind)) {
            phases.insert({p - 1, p, p + 1});
        }
    }
    return phases;
}

bool overlaps(const std::vector<Operand>& some, const std::vector<Operand>& others) {
    return std::ranges::any_of(some, [&](const Operand& one) {
        return std::ranges::any_of(others, [&](const Operand& other) {
            return one.buffer == other.buffer && ByteRangeSet{one.runs}.overlaps(ByteRangeSet{other.runs});
        });
    });
}

/// True if the order of the two ops matters.
bool depend(const Op& one, const Op& other) {
    return overlaps(one.writes, other.reads) || overlaps(one.reads, other.writes) ||
           overlaps(one.writes, other.writes);
}

class Tiling {
  public:
    Tiling(Program& program, const ModelLayout& model, std::int64_t tiles)
        : program_{program}, model_{model}, source_(std::move(program.ops)) {
        program_.ops.clear();
        for (std::int64_t k = 0; k < tiles; ++k) {
            tiles_.push_back({model.tokens * k / tiles, model.tokens * (k + 1) / tiles});
        }
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            order_.push_back(at);
            position_.push_back(static_cast<std::size_t>(at));
        }
    }

    void apply() {
        find_chains();
        if (model_.has_grid()) {
            add_collectives();
        }
        for (auto& [key, chain] : chains_) {
            bring_together(chain);
        }
        count_users();
        std::map<OpId, const Chain*> chain_of;  // by its first op
        for (auto& [key, chain] : chains_) {
            if (chain.ops.size() > 1 && is_together(chain) && has_rows_of_tiles(chain)) {
                chain_of[chain.ops.front()] = &chain;
                shrink_values(chain);
                share_workspace(chain);
            }
        }
        for (std::size_t i = 0; i < order_.size(); ++i) {
            if (const auto chain = chain_of.find(order_[i]); chain != chain_of.end()) {
                add_tiles(*chain->second);
                i += chain->second->ops.size() - 1;
            } else {
                program_.ops.push_back(std::move(source_[order_[i]]));
            }
        }
    }

  private:
    /// Ops of one MLP, micro-batch and pass that run tile by tile.
    struct Chain {
        std::vector<OpId> ops;
        std::set<BufferId> inner;  ///< values with the rows of one tile only
    };

    /// True for an op of an MLP over all rows.
    bool is_tiled(const Op& op) {
        if (op.kind != OpKind::compute || op.unit < 0 || op.phase < 0 || op.row_begin != 0 ||
            (op.row_end != model_.tokens && op.row_end != model_.product_rows()) || op.segment >= 0 ||
            op.is_deferred) {
            return false;
        }
        auto [known, is_new] = phases_.try_emplace(op.unit);
        if (is_new) {
            known->second = mlp_phases(model_.table.units[op.unit]);
        }
        const bool adds_gradients =  // of two readers of the MLP's input
            op.direction == Direction::backward &&
            model_.table.units[op.unit].phases[op.phase].kind == PhaseKind::linear;
        return known->second.contains(op.phase) && !adds_gradients;
    }

    void find_chains() {
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            const auto& op = source_[at];
            if (is_tiled(op)) {
                chains_[key_of(op)].ops.push_back(at);
            }
        }
    }

    /// Adds the collectives of a grid or cube that send rows of values from or to products of a chain.
    ///
    /// Weights and their gradients have no rows: their collectives run before the first tile and after the
    /// last one.
    void add_collectives() {
        std::map<Key, std::set<BufferId>> values;
        for (const auto& [key, chain] : chains_) {
            for (const auto at : chain.ops) {
                for (const auto* operands : {&source_[at].reads, &source_[at].writes}) {
                    for (const auto& operand : *operands) {
                        if (has_rows(operand.role)) {
                            values[key].insert(operand.buffer);
                        }
                    }
                }
            }
        }
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            const auto& op = source_[at];
            if (op.purpose != Purpose::tensor || !is_collective(op.kind) || op.is_deferred) {
                continue;
            }
            const auto sent = values.find(key_of(op));
            if (sent != values.end() && sent->second.contains(all_rows_of(op).buffer)) {
                chains_.at(sent->first).ops.push_back(at);
            }
        }
        for (auto& [key, chain] : chains_) {
            std::ranges::sort(chain.ops);
        }
    }

    /// Returns the operand of a collective that has the blocks of all members.
    static const Operand& all_rows_of(const Op& op) {
        return op.kind == OpKind::all_gather ? op.writes.front() : op.reads.front();
    }

    /// True if each tile is a range of rows of all its values.
    ///
    /// The rows that ranks of a cube gather for a tile are apart in a buffer of all rows, so such a buffer
    /// belongs to the chain alone.
    bool has_rows_of_tiles(const Chain& chain) {
        if (!model_.is_cube) {
            return true;
        }
        std::map<BufferId, int> uses;
        std::set<BufferId> gathered;
        for (const auto at : chain.ops) {
            const auto& op = source_[at];
            for (const auto buffer : buffers_of(op)) {
                ++uses[buffer];
            }
            if (op.kind != OpKind::compute) {
                gathered.insert(all_rows_of(op).buffer);
            }
            for (const auto* operands : {&op.reads, &op.writes}) {
                for (const auto& operand : *operands) {
                    if (op.row_end > model_.tokens && has_rows(operand.role)) {
                        gathered.insert(operand.buffer);
                    }
                }
            }
        }
        return std::ranges::all_of(gathered,
                                   [&](BufferId buffer) { return uses.at(buffer) == users_.at(buffer); });
    }

    /// Moves the other ops between the first and the last op of the chain before or after the chain.
    ///
    /// If an op can move neither before nor after it, the ops of the chain in front of that op stay whole,
    /// and the others are the chain.
    void bring_together(Chain& chain) {
        auto rest = std::move(chain.ops);
        chain.ops.clear();
        while (rest.size() > 1) {
            std::vector<OpId> before;
            std::vector<OpId> after;
            const auto stuck = divide_others(rest, before, after);
            if (!stuck) {
                auto at = position_[rest.front()];
                for (const auto* part : {&before, &rest, &after}) {
                    for (const auto op : *part) {
                        order_[at] = op;
                        position_[op] = at++;
                    }
                }
                chain.ops = std::move(rest);
                return;
            }
            std::erase_if(rest, [&](OpId op) { return position_[op] < *stuck; });
        }
    }

    /// Divides the other ops into those that run before the chain and those that run after it.
    ///
    /// Returns the position of the first op that can do neither.
    std::optional<std::size_t> divide_others(const std::vector<OpId>& ops,
                                             std::vector<OpId>& before,
                                             std::vector<OpId>& after) const {
        std::size_t next = 0;  // first op of the chain that is not before the position
        for (auto at = position_[ops.front()]; at < position_[ops.back()]; ++at) {
            const auto other = order_[at];
            if (other == ops[next]) {
                ++next;
                continue;
            }
            const auto conflicts = [&](OpId one) { return depend(source_[other], source_[one]); };
            const auto later = ops.begin() + static_cast<std::ptrdiff_t>(next);
            if (std::none_of(ops.begin(), later, conflicts) && std::ranges::none_of(after, conflicts)) {
                before.push_back(other);
            } else if (std::none_of(later, ops.end(), conflicts)) {
                after.push_back(other);
            } else {
                return at;
            }
        }
        return {};
    }

    /// True if the ops are still next to each other after other chains were moved.
    bool is_together(const Chain& chain) const {
        const auto begin = position_[chain.ops.front()];
        for (std::size_t k = 0; k < chain.ops.size(); ++k) {
            if (begin + k >= order_.size() || order_[begin + k] != chain.ops[k]) {
                return false;
            }
        }
        return true;
    }

    /// Gives values that only the chain touches the rows of one tile.
    void shrink_values(Chain& chain) {
        std::set<BufferId> written;
        for (const auto at : chain.ops) {
            for (const auto& operand : source_[at].writes) {
                if (has_rows(operand.role)) {
                    written.insert(operand.buffer);
                }
            }
        }
        std::map<BufferId, int> uses;
        for (const auto at : chain.ops) {
            for (const auto buffer : buffers_of(source_[at])) {
                ++uses[buffer];
            }
        }
        std::int64_t rows = 0;
        for (const auto& tile : tiles_) {
            rows = std::max(rows, tile.size());
        }
        for (const auto buffer : written) {
            if (uses.at(buffer) == users_.at(buffer)) {
                chain.inner.insert(buffer);
                auto& bytes = program_.buffers[buffer].bytes;
                bytes = bytes / model_.tokens * rows;
            }
        }
    }

    /// Makes the ops of the chain use the largest of their workspaces, because they take turns.
    void share_workspace(const Chain& chain) {
        std::vector<Operand*> workspaces;
        for (const auto at : chain.ops) {
            for (auto& operand : source_[at].writes) {
                if (operand.role == Role::workspace) {
                    workspaces.push_back(&operand);
                }
            }
        }
        const auto largest = std::ranges::max_element(
            workspaces, {}, [&](const Operand* operand) { return program_.buffers[operand->buffer].bytes; });
        for (auto* operand : workspaces) {
            operand->buffer = (*largest)->buffer;
        }
    }

    static std::set<BufferId> buffers_of(const Op& op) {
        std::set<BufferId> buffers;
        for (const auto* operands : {&op.reads, &op.writes}) {
            for (const auto& operand : *operands) {
                buffers.insert(operand.buffer);
            }
        }
        return buffers;
    }

    void count_users() {
        for (const auto& op : source_) {
            for (const auto buffer : buffers_of(op)) {
                ++users_[buffer];
            }
        }
    }

    void add_tiles(const Chain& chain) {
        for (std::size_t k = 0; k < tiles_.size(); ++k) {
            for (const auto at : chain.ops) {
                auto op = op_of_rows(source_[at], tiles_[k], model_.tokens);
                op.label += ", tile " + std::to_string(k);
                for (auto* operands : {&op.reads, &op.writes}) {
                    for (auto& operand : *operands) {
                        if (chain.inner.contains(operand.buffer)) {
                            operand.runs.front().offset = 0;
                        }
                    }
                }
                set_rows(op, source_[at], tiles_[k]);
                program_.ops.push_back(std::move(op));
            }
        }
    }

    /// Sets the rows of a tile's op, or the blocks of its collective: each has its share of a tile.
    void set_rows(Op& op, const Op& whole, const Rows& tile) const {
        const auto groups = whole.row_end / model_.tokens;  // whose rows the op has: 0 of a collective
        op.row_begin = tile.begin * groups;
        op.row_end = tile.end * groups;
        if (whole.kind == OpKind::compute) {
            return;
        }
        const auto& all = all_rows_of(op);
        const auto first = all.runs.front().offset;
        if (op.kind == OpKind::all_reduce) {
            const auto& buffer = program_.buffers[all.buffer];
            const std::int64_t width = element_bytes(buffer);
            op.blocks = equal_blocks(all.bytes() / width, width, model_.tensor());
            for (auto& block : op.blocks) {
                block.offset += first;
            }
            return;
        }
        for (auto& block : op.blocks) {
            block.offset = first + block.offset / model_.tokens * tile.size();
            block.bytes = block.bytes / model_.tokens * tile.size();
        }
    }

    using Key = std::tuple<UnitId, int, bool>;  // unit, micro-batch, is forward
    static Key key_of(const Op& op) { return {op.unit, op.microbatch, op.direction == Direction::forward}; }

    Program& program_;
    const ModelLayout& model_;
    IndexedVector<OpId, Op> source_;             ///< ops before the pass
    std::vector<OpId> order_;                    ///< of the ops, without tiles
    IndexedVector<OpId, std::size_t> position_;  ///< in order_
    std::vector<Rows> tiles_;
    std::map<UnitId, std::set<int>> phases_;  ///< of the MLP, by unit
    std::map<Key, Chain> chains_;
    std::map<BufferId, int> users_;  ///< number of ops that touch a buffer
};

}  // namespace

void sequence_tiles_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    const auto tiles = std::min<std::int64_t>(spec.tiers.sequence_tiles, model.tokens);
    if (tiles > 1 && draft.program.variant != Variant::cached) {
        Tiling{draft.program, model, tiles}.apply();
    }
}

}  // namespace ziggurat::schedule
