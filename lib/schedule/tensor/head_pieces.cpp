#include "schedule/tensor/head_pieces.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/tensor/collective_pieces.hpp"

namespace ziggurat::schedule {
namespace {

class HeadPieces {
  public:
    HeadPieces(Program& program, const ModelLayout& model)
        : program_{program}, model_{model}, source_(std::move(program.ops)) {
        program_.ops.clear();
    }

    void apply() {
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            const auto& op = source_[at];
            if (is_tensor_collective(op) && op.kind == OpKind::all_gather) {
                place_gather(at);
            } else if (is_tensor_collective(op) && is_sum(op.kind) && op.reads.size() == 1) {
                place_sum(at);
            }
            for (const auto& operand : op.writes) {
                writers_[operand.buffer].push_back(at);
            }
        }
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            add_all(before_, at);
            if (!cut_.contains(at)) {
                program_.ops.push_back(source_[at]);
            }
            add_all(after_, at);
        }
    }

  private:
    using Pieces = std::map<OpId, std::vector<Op>>;  // by the op next to which they are

    static bool reads(const Op& op, BufferId buffer) {
        return std::ranges::find(op.reads, buffer, &Operand::buffer) != op.reads.end();
    }

    /// True for a block of rows of the product with the vocabulary.
    bool is_block(const Op& op, Direction direction) const {
        return op.kind == OpKind::compute && op.direction == direction && op.unit >= 0 && op.phase >= 0 &&
               model_.table.units[op.unit].phases[op.phase].kind == layout::PhaseKind::logits;
    }

    static bool overlap(const Op& block, const Rows& rows) {
        return block.row_begin < rows.end && rows.begin < block.row_end;
    }

    /// Returns the collective of a block's statistics, for which its losses wait; else the block.
    OpId statistics_of(OpId block, OpId next_block) const {
        for (auto at = block + 1; at < next_block; ++at) {
            if (is_tensor_collective(source_[at])) {
                return at;
            }
        }
        return block;
    }

    void place_gather(OpId at) {
        const auto& gather = source_[at];
        const auto all = gather.writes.front().buffer;
        std::vector<OpId> blocks;
        for (auto reader = at + 1; reader < std::ssize(source_); ++reader) {
            if (!reads(source_[reader], all)) {
                continue;
            }
            if (is_block(source_[reader], Direction::forward)) {
                blocks.push_back(reader);
            } else if (blocks.empty()) {
                return;  // something else reads all rows first
            }
        }
        const auto rows = rows_of_pieces(program_, model_, gather);
        if (!rows || blocks.size() < 2) {
            return;
        }
        cut_.insert(at);
        for (std::size_t k = 0; k < rows->size(); ++k) {
            const auto first =
                std::ranges::find_if(blocks, [&](OpId block) { return overlap(source_[block], (*rows)[k]); });
            auto piece = collective_piece(program_, model_, gather, k, (*rows)[k]);
            if (first == blocks.begin()) {
                before_[*first].push_back(std::move(piece));
            } else {
                after_[statistics_of(*std::prev(first), *first)].push_back(std::move(piece));
            }
        }
    }

    void place_sum(OpId at) {
        const auto& sum = source_[at];
        const auto& blocks = writers_[sum.reads.front().buffer];
        const auto adds = [&](OpId writer) { return is_block(source_[writer], Direction::backward_input); };
        const auto rows = rows_of_pieces(program_, model_, sum);
        if (!rows || blocks.size() < 2 || !std::ranges::all_of(blocks, adds)) {
            return;
        }
        cut_.insert(at);
        for (std::size_t k = 0; k < rows->size(); ++k) {
            const auto last = std::find_if(blocks.rbegin(), blocks.rend(),
                                           [&](OpId block) { return overlap(source_[block], (*rows)[k]); });
            after_[*last].push_back(collective_piece(program_, model_, sum, k, (*rows)[k]));
        }
    }

    void add_all(Pieces& pieces, OpId at) {
        if (const auto found = pieces.find(at); found != pieces.end()) {
            std::ranges::move(found->second, std::back_inserter(program_.ops));
        }
    }

    Program& program_;
    const ModelLayout& model_;
    IndexedVector<OpId, Op> source_;  ///< ops before the cut
    std::map<BufferId, std::vector<OpId>> writers_;
    std::set<OpId> cut_;  ///< collectives that are replaced by their pieces
    Pieces before_, after_;
};

}  // namespace

void cut_collectives_of_head(Program& program, const ModelLayout& model) {
    HeadPieces{program, model}.apply();
}

}  // namespace ziggurat::schedule
