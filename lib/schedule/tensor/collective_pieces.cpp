#include "schedule/tensor/collective_pieces.hpp"

#include <algorithm>

namespace ziggurat::schedule {
namespace {

/// Returns nearly equal parts of all rows; nothing if there are fewer rows than ranks.
std::optional<std::vector<Rows>> equal_rows(const ModelLayout& model) {
    const std::int64_t ranks = model.tensor();
    const auto all = model.product_rows();
    if (all < ranks) {
        return {};
    }
    std::vector<Rows> rows;
    for (std::int64_t r = 0; r < ranks; ++r) {
        rows.push_back({all * r / ranks, all * (r + 1) / ranks});
    }
    return rows;
}

}  // namespace

bool is_tensor_collective(const Op& op) {
    return op.purpose == Purpose::tensor && is_collective(op.kind) && op.group >= 0;
}

std::optional<std::vector<Rows>> rows_of_pieces(const Program& program,
                                                const ModelLayout& model,
                                                const Op& collective) {
    if (collective.kind == OpKind::all_reduce) {
        return equal_rows(model);
    }
    const bool gathers = collective.kind == OpKind::all_gather;
    const auto all = gathers ? collective.writes.front().buffer : collective.reads.front().buffer;
    const auto row_bytes = program.buffers[all].bytes / model.product_rows();
    if (row_bytes == 0 || row_bytes * model.product_rows() != program.buffers[all].bytes) {
        return {};
    }
    std::vector<Rows> rows;
    for (const auto& block : collective.blocks) {
        if (block.bytes == 0 || block.offset % row_bytes != 0 || block.bytes % row_bytes != 0) {
            return {};
        }
        rows.push_back({block.offset / row_bytes, (block.offset + block.bytes) / row_bytes});
    }
    return rows;
}

std::string label_of_piece(const Op& of, std::size_t k) {
    return of.label + ", rows of rank " + std::to_string(k);
}

Op collective_piece(
    const Program& program, const ModelLayout& model, const Op& of, std::size_t k, const Rows& rows) {
    Op op = of;
    op.label = label_of_piece(of, k);
    const bool gathers = of.kind == OpKind::all_gather;
    auto& all = gathers ? op.writes.front() : op.reads.front();
    auto& other = gathers ? op.reads.front() : op.writes.front();
    all = part_of_rows(all, rows, model.product_rows());
    const auto run = all.runs.front();
    for (auto& block : op.blocks) {
        const auto begin = std::clamp(block.offset, run.offset, run.offset + run.bytes);
        const auto end = std::clamp(block.offset + block.bytes, run.offset, run.offset + run.bytes);
        block = {begin, end - begin};
    }
    if (of.kind == OpKind::all_reduce) {
        other = part_of_rows(other, rows, model.product_rows());
    } else if (static_cast<int>(k) != program.groups[of.group].my_index) {
        other.runs.front().bytes = 0;
    }
    return op;
}

}  // namespace ziggurat::schedule
