#include "layout/shard_map.hpp"

#include <array>

#include "base/contract.hpp"

namespace ziggurat::layout {

ShardMap::ShardMap(std::int64_t padded_elements, Spans spans, std::int64_t first_element)
    : padded_{padded_elements}, spans_{spans}, first_{first_element} {
    ZG_EXPECTS(spans.parameters >= 1 && spans.gradients % spans.parameters == 0);
    ZG_EXPECTS(spans.optimizer % spans.gradients == 0 && spans.data % spans.optimizer == 0);
    ZG_EXPECTS(padded_elements % (FlatLayout::block * spans.data) == 0);
}

int ShardMap::shard_index(int span, int rank) const {
    ZG_EXPECTS(0 <= rank && rank < spans_.data);
    const std::array levels{1, spans_.parameters, spans_.gradients, spans_.optimizer, spans_.data};
    int index = 0;
    for (std::size_t i = 1; i < levels.size(); ++i) {
        const int coarser = levels[i - 1];
        if (coarser == span) {
            return index;
        }
        index = index * (levels[i] / coarser) + rank % levels[i] / coarser;
    }
    ZG_EXPECTS(span == spans_.data);
    return index;
}

ElementRange ShardMap::shard(int span, int rank) const {
    const auto size = padded_ / span;
    const auto begin = first_ + shard_index(span, rank) * size;
    return {begin, begin + size};
}

std::vector<int> data_group(int rank, int inner, int span) {
    ZG_EXPECTS(inner >= 1 && span % inner == 0);
    std::vector<int> members;
    for (int r = rank / span * span + rank % inner; r < (rank / span + 1) * span; r += inner) {
        members.push_back(r);
    }
    return members;
}

}  // namespace ziggurat::layout
