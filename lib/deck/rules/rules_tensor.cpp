/// Rules of tensor ranks: the sizes that they divide, and grids of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "deck/messages/arithmetic.hpp"
#include "deck/rules/rules.hpp"
#include "spec/tensor_grid.hpp"

namespace ziggurat::deck {
namespace {

/// Returns the number of ranks of a grid of that side with its copies, or of a cube.
std::int64_t ranks_of_side(const spec::Parallel& parallel, std::int64_t side, std::int64_t depth) {
    return side * side * (parallel.tensor_mode == spec::TensorMode::three_d ? side : depth);
}

/// Returns the tensor degrees that divide `number` by a side of a grid or cube.
std::vector<std::int64_t> grids_that_divide(std::int64_t number, const spec::Parallel& parallel) {
    std::vector<std::int64_t> degrees;
    for (const auto side : divisors(number)) {
        if (side > 1) {
            degrees.push_back(ranks_of_side(parallel, side, parallel.tensor_depth));
        }
    }
    return degrees;
}

/// Reports an error unless the side of the grid divides `number`, the value of `key`.
void splits_over_grid(const Resolution& at, const char* key, std::int64_t number, const char* reason) {
    const auto& parallel = at.run.parallel;
    if (number % parallel.tensor == 0) {
        return;
    }
    const auto fitting = grids_that_divide(number, parallel);
    at.found.error(at.values.location("parallel.tensor.degree"),
                   fmt::format("parallel.tensor = {}: the side {} of its {} does not divide {} = {}",
                               parallel.tensor_degree(), parallel.tensor,
                               parallel.has_cube() ? "cube" : "grid", key, number),
                   reason, fitting.empty() ? "Use mode: 1d." : fmt::format("Use {}.", list_or(fitting)));
}

/// Reports an error unless the tensor degree divides `number`, the value of `key`.
void splits_over_tensor_ranks(const Resolution& at,
                              const char* key,
                              std::int64_t number,
                              const char* reason) {
    if (at.run.parallel.has_grid()) {
        splits_over_grid(at, key, number, reason);
        return;
    }
    const int degree = at.run.parallel.tensor;
    if (number % degree == 0) {
        return;
    }
    at.found.error(at.values.location("parallel.tensor.degree"),
                   fmt::format("parallel.tensor = {} does not divide {} = {}", degree, key, number), reason,
                   fmt::format("Use {}.", list_or(divisors(number))));
}

void heads_split_evenly(const Resolution& at) {
    splits_over_tensor_ranks(at, "model.heads", at.run.model.heads,
                             "a tensor rank holds whole attention heads");
}

void key_heads_split_evenly(const Resolution& at) {
    const std::int64_t heads = at.run.model.kv_heads;
    if (at.run.parallel.has_grid()) {
        if (heads != at.run.model.heads) {
            splits_over_grid(at, "model.kv_heads", heads,
                             "ranks of a grid hold whole heads of keys and values");
        }
        return;
    }
    const std::int64_t degree = at.run.parallel.tensor;
    if (heads < 1 || heads % degree == 0 || degree % heads == 0) {
        return;
    }
    auto fitting = divisors(heads);
    for (const auto divisor : divisors(at.run.model.heads)) {
        if (divisor % heads == 0 && divisor != heads) {
            fitting.push_back(divisor);
        }
    }
    at.found.error(
        at.values.location("parallel.tensor.degree"),
        fmt::format("parallel.tensor = {} and model.kv_heads = {}: neither divides the other", degree, heads),
        "a tensor rank holds whole heads of keys and values, or shares one with its neighbours",
        fmt::format("Use {}.", list_or(fitting)));
}

void mlp_splits_evenly(const Resolution& at) {
    splits_over_tensor_ranks(at, "model.ffn_hidden", at.run.model.ffn_hidden,
                             "tensor ranks hold equal parts of the MLP");
}

void vocabulary_splits_evenly(const Resolution& at) {
    splits_over_tensor_ranks(
        at, "the padded vocabulary", at.run.model.vocab_padded,
        "tensor ranks hold equal parts of the embedding; model.vocab_pad_to: auto makes its rows fit");
}

void grid_splits_hidden(const Resolution& at) {
    if (at.run.parallel.has_grid()) {
        splits_over_grid(at, "model.hidden", at.run.model.hidden,
                         "ranks hold equal parts of each activation");
    }
}

/// Checks that the tensor ranks of modes 2d and 2.5d are grids of q x q ranks, those of mode 3d a cube.
///
/// Source: Xu et al., "An Efficient 2D Method for Training Super-Large Deep Learning Models", 2021; Wang et
/// al., "Tesseract: Parallelize the Tensor Parallelism Efficiently", 2022; Bian et al., "Maximizing
/// Parallelism in Distributed Training for Huge Neural Networks", 2021.
void tensor_ranks_are_a_grid(const Resolution& at) {
    using spec::TensorMode;
    const auto& parallel = at.run.parallel;
    const auto mode = at.values.keyword("parallel.tensor.mode");
    const bool has_copies = parallel.tensor_mode == TensorMode::two_and_half_d;
    const auto depth = at.values.integer("parallel.tensor.depth");
    if (!has_copies && depth > 1) {
        at.found.error(at.values.location("parallel.tensor.depth"),
                       fmt::format("parallel.tensor.depth = {} in mode {}", depth, mode),
                       "only mode 2.5d has copies of a grid", "Remove it, or set mode: 2.5d.");
        return;
    }
    if (parallel.tensor_mode == TensorMode::one_d) {
        return;
    }
    if (at.values.is_keyword("parallel.tensor.degree", "auto")) {
        at.found.error(at.values.location("parallel.tensor.degree"),
                       fmt::format("parallel.tensor.degree = auto in mode {}", mode),
                       "auto chooses degrees of mode 1d", "Set the degree.");
        return;
    }
    if (parallel.has_grid()) {
        return;
    }
    const auto degree = at.values.integer("parallel.tensor.degree");
    const bool is_cube = parallel.tensor_mode == TensorMode::three_d;
    const std::int64_t side = is_cube ? spec::side_of_cube(static_cast<int>(degree))
                                      : spec::side_of_grid(static_cast<int>(degree / depth));
    std::vector<std::int64_t> nearest;
    for (const auto each : {std::max<std::int64_t>(side, 2), side + 1}) {
        if (const auto ranks = ranks_of_side(parallel, each, depth);
            nearest.empty() || nearest.back() != ranks) {
            nearest.push_back(ranks);
        }
    }
    at.found.error(
        at.values.location("parallel.tensor.degree"),
        fmt::format("parallel.tensor = {} is not a {} of mode {}", degree, is_cube ? "cube" : "grid", mode),
        has_copies ? fmt::format("2.5d needs q x q ranks in each of depth = {} copies, q > 1", depth)
        : is_cube  ? std::string{"3d needs q x q x q ranks, q > 1"}
                   : std::string{"2d needs q x q ranks, q > 1"},
        fmt::format("Use {}.", list_or(nearest)));
}

void sequence_has_tensor_ranks(const Resolution& at) {
    if (at.run.parallel.sequence && at.run.parallel.has_grid()) {
        at.found.error(
            at.values.location("parallel.sequence"),
            fmt::format("parallel.sequence in tensor mode {}", at.values.keyword("parallel.tensor.mode")),
            "a grid already divides all activations, by batch and width", "Leave parallel.sequence out.");
        return;
    }
    if (at.run.parallel.sequence && at.run.parallel.tensor == 1) {
        at.found.error(at.values.location("parallel.sequence"), "parallel.sequence has no tensor ranks",
                       "it splits tokens over the ranks of parallel.tensor, which is 1",
                       "Set parallel.tensor, or leave parallel.sequence out.");
    }
}

void pieces_have_tensor_ranks(const Resolution& at) {
    const auto& parallel = at.run.parallel;
    if (at.run.overlap.tensor_pieces && parallel.has_grid() && !parallel.has_cube()) {
        at.found.error(
            at.values.location("overlap.tensor"),
            fmt::format("overlap.tensor in tensor mode {}", at.values.keyword("parallel.tensor.mode")),
            "the products of a grid already send a block while they multiply another",
            "Leave overlap.tensor out.");
        return;
    }
    if (at.run.overlap.tensor_pieces && at.run.parallel.tensor == 1) {
        at.found.error(at.values.location("overlap.tensor"), "overlap.tensor has no tensor ranks",
                       "it cuts the collectives of parallel.tensor, which is 1",
                       "Set parallel.tensor, or leave overlap.tensor out.");
    }
}

constexpr std::array rules = {
    Rule{tensor_ranks_are_a_grid, "parallel.tensor"},
    Rule{grid_splits_hidden, "parallel.tensor.degree model.hidden"},
    Rule{heads_split_evenly, "parallel.tensor.degree model.heads"},
    Rule{key_heads_split_evenly, "parallel.tensor.degree model.heads model.kv_heads"},
    Rule{mlp_splits_evenly, "parallel.tensor.degree model.hidden model.ffn_hidden"},
    Rule{vocabulary_splits_evenly, "parallel.tensor.degree model.vocab model.vocab_pad_to"},
    Rule{sequence_has_tensor_ranks, "parallel.tensor.degree parallel.sequence"},
    Rule{pieces_have_tensor_ranks, "overlap.tensor parallel.tensor"},
};

}  // namespace

std::span<const Rule> tensor_rules() {
    return rules;
}

}  // namespace ziggurat::deck
