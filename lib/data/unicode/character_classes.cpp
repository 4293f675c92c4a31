#include "data/unicode/character_classes.hpp"

#include <algorithm>
#include <string_view>

#include "data/unicode/unicode_classes.hpp"

namespace ziggurat::data {
namespace {

void mark(std::vector<CharacterClass>& classes, std::string_view name, CharacterClass as) {
    const auto ranges = codes_of_class(name);
    for (const auto& range : ranges.value()) {
        std::fill(classes.begin() + range.first, classes.begin() + range.last + 1, as);
    }
}

}  // namespace

CharacterClasses::CharacterClasses() : classes_(max_code + 1, CharacterClass::other) {
    mark(classes_, "L", CharacterClass::letter);
    mark(classes_, "N", CharacterClass::number);
    mark(classes_, "Space", CharacterClass::space);
}

}  // namespace ziggurat::data
