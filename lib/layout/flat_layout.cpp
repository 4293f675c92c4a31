#include "layout/flat_layout.hpp"

#include "base/contract.hpp"

namespace ziggurat::layout {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

FlatLayout::FlatLayout(const Unit& unit, int tensor, int shards) {
    ZG_EXPECTS(shards >= 1);
    for (const auto& parameter : unit.parameters) {
        const auto begin = parameter.joined_to_previous ? elements_ : rounded_up(elements_, alignment);
        elements_ = begin + local_elements(parameter, tensor);
        parameters_.push_back({begin, elements_});
    }
    padded_ = rounded_up(elements_, block * shards);
}

std::vector<ElementRange> FlatLayout::gaps() const {
    std::vector<ElementRange> found;
    std::int64_t end = 0;
    for (const auto& range : parameters_) {
        if (range.begin > end) {
            found.push_back({end, range.begin});
        }
        end = range.end;
    }
    if (padded_ > end) {
        found.push_back({end, padded_});
    }
    return found;
}

}  // namespace ziggurat::layout
