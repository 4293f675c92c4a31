#include "schedule/verify/expected_results.hpp"

#include <algorithm>
#include <functional>

#include "base/contract.hpp"

namespace ziggurat::schedule {

using simulation::Leaf;
using simulation::Terms;
using spec::Axis;

namespace {

using Summands = std::vector<std::pair<Leaf, std::uint64_t>>;

/// Groups summands by key: in order of appearance within a group, groups ascending by key.
template <class Key>
std::map<int, Summands> grouped(const Summands& summands, const Key& key) {
    std::map<int, Summands> groups;
    for (const auto& summand : summands) {
        groups[key(summand.first)].push_back(summand);
    }
    return groups;
}

bool is_cut(const layout::Parameter& parameter) {
    return parameter.tensor_dim >= 0 || parameter.row_slices > 1;
}

std::uint64_t left_fold(const std::vector<std::uint64_t>& terms, Terms& registry) {
    std::uint64_t total = Terms::zero;
    for (const auto term : terms) {
        total = registry.sum({total, term});
    }
    return total;
}

}  // namespace

ExpectedResults::ExpectedResults(const spec::RunSpec& spec) : spec_{spec} {
    for (int rank = 0; rank < spec.parallel.ranks; ++rank) {
        layouts_.emplace_back(spec, rank);
    }
}

std::vector<ExpectedResults::ParameterRange> ExpectedResults::parameter_ranges(
    UnitId unit, layout::ElementRange elements) const {
    const auto& flat = layouts_.front().flats.at(unit);
    std::vector<ParameterRange> found;
    auto position = elements.begin;
    const auto add = [&](std::int64_t end, int parameter) {
        if (end > position) {
            found.push_back({{position, end}, parameter});
            position = end;
        }
    };
    for (const int p : flat.ascending()) {
        const auto& range = flat.parameter(p);
        if (range.end > position && position < elements.end) {
            add(std::min(range.begin, elements.end), -1);
            add(std::min(range.end, elements.end), p);
        }
    }
    add(elements.end, -1);
    return found;
}

std::uint64_t ExpectedResults::initial_term(int rank, UnitId unit, int parameter) const {
    if (parameter < 0) {
        return Terms::zero;
    }
    auto term = simulation::mixed(static_cast<std::uint64_t>(unit), static_cast<std::uint64_t>(parameter));
    if (is_cut(described(rank, unit, parameter))) {
        term = simulation::mixed(term, static_cast<std::uint64_t>(slice(rank, unit, parameter)) + 1);
    }
    return term;
}

const layout::Parameter& ExpectedResults::described(int rank, UnitId unit, int parameter) const {
    return layout(rank).table.units.at(unit).parameters.at(parameter);
}

int ExpectedResults::slice(int rank, UnitId unit, int parameter) const {
    const auto& sliced = described(rank, unit, parameter);
    const auto& model = layout(rank);
    const int row = sliced.row_slices > 1 ? model.tensor_row : 0;
    return row * model.tensor() + layout::slice_of(sliced, model.tensor(), model.tensor_rank);
}

std::int64_t ExpectedResults::holders_key(int rank, UnitId unit, int parameter) const {
    const auto slot = is_cut(described(rank, unit, parameter))
                          ? (std::int64_t{parameter} << 16) + slice(rank, unit, parameter) + 1
                          : 0;
    return (static_cast<std::int64_t>(unit) << 32) + slot;
}

std::vector<ExpectedResults::Use> ExpectedResults::uses(UnitId unit, int parameter) const {
    const auto& units = layouts_.front().table.units;
    std::vector<Use> found;
    for (std::size_t u = 0; u < units.size(); ++u) {
        for (std::size_t p = 0; p < units[u].phases.size(); ++p) {
            for (const auto& use : units[u].phases[p].parameters) {
                const UnitId owner = use.unit < 0 ? UnitId{static_cast<int>(u)} : use.unit;
                if (owner == unit && use.parameter == parameter) {
                    found.emplace_back(static_cast<int>(u), static_cast<int>(p));
                }
            }
        }
    }
    return found;
}

bool ExpectedResults::is_of_grid(UnitId unit, int phase) const {
    return layouts_.front().table.units[unit].phases[phase].is_of_grid;
}

std::string ExpectedResults::missing_or_twice(
    int rank, UnitId unit, int parameter, int step, const std::vector<Leaf>& leaves) const {
    const auto& summed = described(rank, unit, parameter);
    const bool is_partial = summed.gradient_is_partial;
    // By (data rank, tensor row, tensor rank, micro-batch, unit, phase): the rows that are summed.
    using Summand = std::tuple<int, int, int, int, int, int>;
    std::map<Summand, std::vector<std::pair<std::int64_t, std::int64_t>>> rows;
    for (const auto& leaf : leaves) {
        if (leaf.step != step) {
            return "a summand of step " + std::to_string(leaf.step) + " is in the sum of step " +
                   std::to_string(step);
        }
        // The tensor rank of a summand counts only in sums within a slice, its row also in products of a
        // grid; other summands can be replicated.
        if (is_partial && slice(leaf.rank, unit, parameter) != slice(rank, unit, parameter)) {
            return "a summand of another slice is in the sum";
        }
        const auto& from = layout(leaf.rank);
        const bool has_row = is_partial || is_of_grid(leaf.unit, leaf.phase);
        rows[{from.data_rank, has_row ? from.tensor_row : 0, is_partial ? from.tensor_rank : 0,
              leaf.microbatch, leaf.unit, leaf.phase}]
            .emplace_back(leaf.row_begin, leaf.row_end);
    }
    std::int64_t summands = 0;
    for (const auto& [user, phase] : uses(unit, parameter)) {
        // The rows of a grid sum the gradients of their blocks.
        summands += is_partial                ? layout(rank).slice_holders(summed)
                    : is_of_grid(user, phase) ? spec_.parallel.tensor_rows
                                              : 1;
    }
    const auto expected =
        static_cast<std::size_t>(spec_.parallel.data * spec_.train.micro_batches * summands);
    if (rows.size() != expected) {
        return std::to_string(rows.size()) + " of " + std::to_string(expected) +
               " contributions (data rank, micro-batch, use) are in the sum";
    }
    for (auto& [slot, blocks] : rows) {
        std::sort(blocks.begin(), blocks.end());
        std::int64_t row = 0;
        for (const auto& [begin, end] : blocks) {
            if (begin != row) {
                return "rows from " + std::to_string(std::min(row, begin)) + " on of data rank " +
                       std::to_string(std::get<0>(slot)) + ", micro-batch " +
                       std::to_string(std::get<3>(slot)) +
                       (begin < row ? " are summed twice" : " are missing");
            }
            row = end;
        }
        if (row != blocks.back().second || (blocks.size() > 1 && row == 0)) {
            return "a contribution of data rank " + std::to_string(std::get<0>(slot)) + ", micro-batch " +
                   std::to_string(std::get<3>(slot)) + " is summed twice";
        }
    }
    return {};
}

/// Returns the term after rounding to the accumulator's type.
std::uint64_t ExpectedResults::kept(std::uint64_t term, Terms& terms) const {
    return spec_.precision.gradient == spec::DType::f32 ? term : terms.rounded(term);
}

std::uint64_t ExpectedResults::over_data_axis(const Summands& summands, bool sums_rows, Terms& terms) const {
    const auto data_rank = [&](const Leaf& leaf) { return layout(leaf.rank).data_rank; };
    const auto microbatch = [](const Leaf& leaf) { return leaf.microbatch; };
    // The rows of a grid sum the gradient of a product before it is added to those of others.
    using Product = std::tuple<int, UnitId, int>;
    const auto of_rank = [&](const Summands& mine) {
        std::vector<std::pair<Product, Summands>> products;
        for (const auto& summand : mine) {
            const auto& leaf = summand.first;
            const Product product{leaf.microbatch, leaf.unit, leaf.phase};
            const bool joins = sums_rows && is_of_grid(leaf.unit, leaf.phase) && !products.empty() &&
                               products.back().first == product;
            if (!joins) {
                products.push_back({product, {}});
            }
            products.back().second.push_back(summand);
        }
        std::vector<std::uint64_t> all;
        for (const auto& [product, summands_of_rows] : products) {
            // Each rank adds up the tiles of its rows first.
            std::vector<std::uint64_t> of_ranks;
            for (const auto& [rank, tiles] :
                 grouped(summands_of_rows, [](const Leaf& leaf) { return leaf.rank; })) {
                std::vector<std::uint64_t> of_tiles;
                for (const auto& [leaf, term] : tiles) {
                    of_tiles.push_back(term);
                }
                of_ranks.push_back(left_fold(of_tiles, terms));
            }
            all.push_back(terms.sum(of_ranks));
        }
        return left_fold(all, terms);
    };
    const auto over_ranks = [&](const Summands& some) {
        std::vector<std::uint64_t> sums;
        for (const auto& [rank, mine] : grouped(some, data_rank)) {
            sums.push_back(of_rank(mine));
        }
        return terms.sum(sums);
    };
    const auto over_microbatches = [&](const Summands& some) {
        auto total = Terms::zero;
        for (const auto& [m, all] : grouped(some, microbatch)) {
            total = kept(terms.sum({total, over_ranks(all)}), terms);
        }
        return total;
    };
    switch (spec_.sharding.reduce) {
        case spec::ReducePlan::at_end: {
            if (spec_.precision.gradient == spec::DType::f32) {
                return over_ranks(summands);
            }
            // Each micro-batch's gradient is complete before it is added to the accumulator.
            std::vector<std::uint64_t> accumulators;
            for (const auto& [rank, mine] : grouped(summands, data_rank)) {
                accumulators.push_back(over_microbatches(mine));
            }
            return kept(terms.sum(accumulators), terms);
        }
        case spec::ReducePlan::each_microbatch:
            return over_microbatches(summands);
        case spec::ReducePlan::by_span:
            break;
    }
    const int span = spec_.sharding.gradients;
    std::vector<std::uint64_t> sums;
    for (const auto& [replica, all] :
         grouped(summands, [&](const Leaf& leaf) { return data_rank(leaf) / span; })) {
        sums.push_back(over_microbatches(all));
    }
    return kept(terms.sum(sums), terms);
}

std::uint64_t ExpectedResults::in_order_of_plan(const Summands& summands,
                                                bool over_tensor,
                                                Terms& terms) const {
    // From the outer level to the inner: stages that share a table, tensor ranks, data axis.
    const std::vector<std::function<int(const Leaf&)>> levels{
        [&](const Leaf& leaf) { return layout(leaf.rank).stage; },
        [&](const Leaf& leaf) {
            const auto& from = layout(leaf.rank);
            return over_tensor ? from.tensor_row * from.tensor() + from.tensor_rank : 0;
        }};
    const std::function<std::uint64_t(const Summands&, std::size_t)> total = [&](const Summands& some,
                                                                                 std::size_t level) {
        if (level == levels.size()) {
            return over_data_axis(some, !over_tensor, terms);
        }
        std::vector<std::uint64_t> sums;
        for (const auto& [slot, all] : grouped(some, levels[level])) {
            sums.push_back(total(all, level + 1));
        }
        return kept(terms.sum(sums), terms);
    };
    return total(summands, 0);
}

std::string ExpectedResults::mismatch(
    int rank, UnitId unit, int parameter, int step, std::uint64_t term, Terms& terms) const {
    const auto key = std::make_tuple(step, unit, parameter, slice(rank, unit, parameter), term);
    if (const auto found = checked_.find(key); found != checked_.end()) {
        return found->second;
    }
    const auto summands = terms.leaves(term);
    std::vector<Leaf> leaves;
    for (const auto& summand : summands) {
        leaves.push_back(summand.first);
    }
    auto text = missing_or_twice(rank, unit, parameter, step, leaves);
    const bool over_tensor = described(rank, unit, parameter).gradient_is_partial;
    if (text.empty() && in_order_of_plan(summands, over_tensor, terms) != term) {
        text = "all summands are present, but not added in the order of the sum plan";
    }
    checked_[key] = text;
    return text;
}

}  // namespace ziggurat::schedule
