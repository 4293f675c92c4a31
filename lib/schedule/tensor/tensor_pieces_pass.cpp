#include "schedule/tensor/tensor_pieces_pass.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "schedule/rows/row_parts.hpp"
#include "schedule/tensor/collective_pieces.hpp"
#include "schedule/tensor/head_pieces.hpp"

namespace ziggurat::schedule {
namespace {

bool touches(const std::vector<Operand>& operands, BufferId buffer) {
    return std::ranges::any_of(operands, [&](const Operand& operand) { return operand.buffer == buffer; });
}

class Cutting {
  public:
    Cutting(Program& program, const ModelLayout& model)
        : program_{program}, model_{model}, source_(std::move(program.ops)) {
        program_.ops.clear();
    }

    void apply() {
        find_gathers();
        find_sums();
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            if (const auto gather = gathers_.find(at); gather != gathers_.end()) {
                const auto& pieces = products_.at(gather->second).pieces;
                for (std::size_t k = 0; k < pieces.size(); ++k) {
                    program_.ops.push_back(collective_piece(program_, model_, source_[at], k, pieces[k]));
                }
            } else if (products_.contains(at)) {
                add_product(at);
            } else if (!sums_.contains(at)) {  // else: add_product has added it
                program_.ops.push_back(std::move(source_[at]));
            }
        }
    }

  private:
    /// A product that is cut, and its collectives.
    struct Product {
        std::vector<Rows> pieces;  ///< by member of the collectives' groups
        OpId gather = -1;          ///< of its input
        OpId sum = -1;             ///< of its output
    };

    /// True for a product of rows with a weight, over all rows.
    ///
    /// The product with the vocabulary has blocks of rows of its own, except in a cube.
    bool is_product(const Op& op) const {
        using layout::PhaseKind;
        if (op.kind != OpKind::compute || op.unit < 0 || op.phase < 0) {
            return false;
        }
        const auto kind = model_.table.units[op.unit].phases[op.phase].kind;
        return (kind == PhaseKind::linear || (kind == PhaseKind::logits && model_.is_cube)) &&
               (op.direction == Direction::forward || op.direction == Direction::recompute ||
                op.direction == Direction::backward_input) &&
               op.row_begin == 0 && op.row_end == model_.product_rows();
    }

    void find_gathers() {
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            const auto& op = source_[at];
            if (!is_tensor_collective(op) || op.kind != OpKind::all_gather) {
                continue;
            }
            const auto all = op.writes.front().buffer;
            auto reader = at + 1;
            while (reader < std::ssize(source_) && !touches(source_[reader].reads, all)) {
                ++reader;
            }
            const auto rows = rows_of_pieces(program_, model_, op);
            if (rows && reader < std::ssize(source_) && is_product(source_[reader])) {
                gathers_.insert({at, reader});
                products_[reader] = {.pieces = *rows, .gather = at};
            }
        }
    }

    void find_sums() {
        std::map<BufferId, OpId> written;  // last op that writes a buffer
        std::map<BufferId, OpId> read;
        for (OpId at{0}; at < std::ssize(source_); ++at) {
            const auto& op = source_[at];
            if (is_tensor_collective(op) && is_sum(op.kind) && op.reads.size() == 1) {
                const auto all = op.reads.front().buffer;
                const auto maker = written.find(all);
                if (maker != written.end() && is_product(source_[maker->second]) &&
                    !(read.contains(all) && read.at(all) > maker->second) && !is_hidden(maker->second)) {
                    add_sum(maker->second, at);
                }
            }
            for (const auto& operand : op.reads) {
                read[operand.buffer] = at;
            }
            for (const auto& operand : op.writes) {
                written[operand.buffer] = at;
            }
        }
    }

    /// True if the next op that computes forms the gradient of a weight.
    bool is_hidden(OpId product) const {
        for (auto at = product + 1; at < std::ssize(source_); ++at) {
            if (source_[at].kind == OpKind::compute) {
                return source_[at].direction == Direction::backward_weight && source_[at].flops > 0;
            }
        }
        return false;
    }

    void add_sum(OpId product, OpId sum) {
        const auto& op = source_[sum];
        const auto rows = rows_of_pieces(program_, model_, op);
        const auto cut = products_.find(product);
        if (!rows || (cut != products_.end() && cut->second.pieces != *rows)) {
            return;
        }
        products_[product].pieces = *rows;
        products_[product].sum = sum;
        sums_.insert({sum, product});
    }

    void add_product(OpId at) {
        const auto& of = source_[at];
        const auto& product = products_.at(at);
        std::vector<std::size_t> order;
        for (std::size_t k = 0; k < product.pieces.size(); ++k) {
            order.push_back(k);
        }
        const auto own = product.gather < 0 ? 0 : program_.groups[source_[product.gather].group].my_index;
        if (product.sum < 0) {
            std::rotate(order.begin(), order.begin() + own, order.begin() + own + 1);
        }
        for (const auto k : order) {
            const auto& rows = product.pieces[k];
            Op op = op_of_rows(of, rows, model_.product_rows());
            op.label = label_of_piece(of, k);
            if (product.gather >= 0 && static_cast<int>(k) == own) {
                read_own_rows(op, source_[product.gather]);
            }
            program_.ops.push_back(std::move(op));
            if (product.sum >= 0) {
                program_.ops.push_back(collective_piece(program_, model_, source_[product.sum], k, rows));
            }
        }
    }

    /// Makes the op read its rows where they were before the gather.
    static void read_own_rows(Op& op, const Op& gather) {
        for (auto& operand : op.reads) {
            if (operand.buffer == gather.writes.front().buffer) {
                operand.buffer = gather.reads.front().buffer;
                operand.runs = gather.reads.front().runs;
            }
        }
    }

    Program& program_;
    const ModelLayout& model_;
    IndexedVector<OpId, Op> source_;    ///< ops before the pass
    std::map<OpId, OpId> gathers_;      ///< gathers that are cut, and their products
    std::map<OpId, Product> products_;  ///< products that are cut
    std::map<OpId, OpId> sums_;         ///< sums that are cut, and their products
};

}  // namespace

void tensor_pieces_pass(ProgramBuilder& draft, const spec::RunSpec& spec, const ModelLayout& model) {
    if (spec.overlap.tensor_pieces && model.tensor() > 1 && draft.program.variant != Variant::cached) {
        Cutting{draft.program, model}.apply();
        cut_collectives_of_head(draft.program, model);
    }
}

}  // namespace ziggurat::schedule
