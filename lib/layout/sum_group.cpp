#include "layout/sum_group.hpp"

#include <cstddef>

#include "base/contract.hpp"

namespace ziggurat::layout {

int members_summed_together(std::span<const int> data_ranks, int sum_group) {
    ZG_EXPECTS(sum_group >= 1);
    const auto run_from = [&](std::size_t begin) {
        std::size_t end = begin;
        while (end < data_ranks.size() && data_ranks[end] / sum_group == data_ranks[begin] / sum_group) {
            ++end;
        }
        return end - begin;
    };
    const auto first = data_ranks.empty() ? 0 : run_from(0);
    if (first <= 1 || first == data_ranks.size()) {
        return 0;
    }
    for (std::size_t begin = first; begin < data_ranks.size(); begin += first) {
        if (run_from(begin) != first) {
            return 0;
        }
    }
    return static_cast<int>(first);
}

}  // namespace ziggurat::layout
