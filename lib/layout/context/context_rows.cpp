#include "layout/context/context_rows.hpp"

#include <numeric>

#include "base/contract.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::layout {

std::int64_t context_blocks(const spec::Parallel& parallel) {
    const bool has_two_each = parallel.context > 1 && parallel.context_kind == spec::ContextKind::ring;
    return std::int64_t{parallel.context} * (has_two_each ? 2 : 1);
}

std::int64_t position_parts(const spec::Parallel& parallel) {
    const std::int64_t sequence_ranks = parallel.sequence ? parallel.tensor : 1;
    return std::lcm(context_blocks(parallel), parallel.context * sequence_ranks);
}

ContextRows context_rows(const spec::Parallel& parallel, int rank, std::int64_t seq) {
    const auto blocks = context_blocks(parallel);
    ZG_EXPECTS(seq % blocks == 0 && rank >= 0 && rank < parallel.context);
    const auto block = seq / blocks;
    if (blocks == parallel.context) {
        return {.size = block, .split = block, .first = rank * block, .first_of_second = (rank + 1) * block};
    }
    return {.size = 2 * block,
            .split = block,
            .first = rank * block,
            .first_of_second = (blocks - 1 - rank) * block};
}

GatheredRows gathered_rows(const spec::Parallel& parallel,
                           int rank,
                           std::int64_t sequences,
                           std::int64_t seq) {
    const auto blocks = context_blocks(parallel);
    ZG_EXPECTS(seq % blocks == 0 && rank >= 0 && rank < parallel.context);
    return {.ranks = parallel.context,
            .rank = rank,
            .rows = sequences * (seq / parallel.context),
            .blocks = blocks,
            .block = seq / blocks};
}

}  // namespace ziggurat::layout
