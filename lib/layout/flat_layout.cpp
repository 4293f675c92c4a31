#include "layout/flat_layout.hpp"

#include <algorithm>
#include <numeric>

#include "base/contract.hpp"
#include "base/round_up.hpp"

namespace ziggurat::layout {

FlatLayout::FlatLayout(const Unit& unit, int tensor, int shards) : parameters_(unit.parameters.size()) {
    ZG_EXPECTS(shards >= 1);
    for (const bool trained : {true, false}) {
        for (std::size_t p = 0; p < unit.parameters.size(); ++p) {
            const auto& parameter = unit.parameters[p];
            if (parameter.is_trained != trained) {
                continue;
            }
            const auto from = std::max(elements_, padded_);
            const auto begin = parameter.joined_to_previous ? from : round_up(from, alignment);
            elements_ = begin + local_elements(parameter, tensor);
            parameters_[p] = {begin, elements_};
        }
        padded_ = std::max(padded_, round_up(elements_, block * shards));
        if (trained) {
            trained_end_ = elements_;
            trained_ = padded_;
        }
    }
}

std::vector<int> FlatLayout::ascending() const {
    std::vector<int> order(parameters_.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int a, int b) { return parameter(a).begin < parameter(b).begin; });
    return order;
}

}  // namespace ziggurat::layout
