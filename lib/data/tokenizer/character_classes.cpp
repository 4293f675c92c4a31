#include "data/tokenizer/character_classes.hpp"

#include <oniguruma.h>

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "data/tokenizer/start_engine.hpp"

namespace ziggurat::data {
namespace {

void mark(std::vector<CharacterClass>& classes, const std::string& property, CharacterClass as) {
    const OnigEncoding encoding = ONIG_ENCODING_UTF8;
    std::string name = property;
    auto* const begin = reinterpret_cast<OnigUChar*>(name.data());
    const int type = encoding->property_name_to_ctype(encoding, begin, begin + name.size());
    OnigCodePoint first_of_many = 0;
    const OnigCodePoint* ranges = nullptr;
    if (type < 0 ||
        encoding->get_ctype_code_range(static_cast<OnigCtype>(type), &first_of_many, &ranges) != 0) {
        throw Error{ErrorKind::internal, "Oniguruma has no table of '" + property + "'"};
    }
    for (OnigCodePoint i = 0; i < ranges[0]; ++i) {
        const auto from = std::min<OnigCodePoint>(ranges[1 + 2 * i], most_code + 1);
        const auto to = std::min<OnigCodePoint>(ranges[2 + 2 * i], most_code);
        for (OnigCodePoint code = from; code <= to; ++code) {
            classes[code] = as;
        }
    }
}

}  // namespace

CharacterClasses::CharacterClasses() : classes_(most_code + 1, CharacterClass::other) {
    start_engine();
    mark(classes_, "L", CharacterClass::letter);
    mark(classes_, "N", CharacterClass::number);
    mark(classes_, "Space", CharacterClass::space);
}

}  // namespace ziggurat::data
