#include "data/unicode/composed_form.hpp"

#include <algorithm>

#include "base/contract.hpp"
#include "data/unicode/characters.hpp"
#include "data/unicode/composition_data_impl.hpp"

namespace ziggurat::data {
namespace {

// Hangul, section 3.12 of the standard: syllables are composed of two or three letters by arithmetic.
constexpr std::uint32_t first_syllable = 0xAC00;
constexpr std::uint32_t num_syllables = 11172;
constexpr std::uint32_t first_lead = 0x1100, num_leads = 19;
constexpr std::uint32_t first_vowel = 0x1161, num_vowels = 21;
constexpr std::uint32_t before_tails = 0x11A7, num_tails = 28;  // the first tail is "no tail"

bool is_in(std::uint32_t code, std::uint32_t first, std::uint32_t count) {
    return code >= first && code < first + count;
}

std::uint64_t pair_of(std::uint32_t first, std::uint32_t second) {
    return std::uint64_t{first} << 32U | second;
}

}  // namespace

ComposedForm::ComposedForm() : class_of_(max_code + 1), may_change_(max_code + 1) {
    for (const auto& range : combining_ranges) {
        for (auto code = range.first; code <= range.last; ++code) {
            class_of_[code] = range.combining_class;
            may_change_[code] = true;
        }
    }
    for (const auto& made : decompositions) {
        parts_.emplace(made.code, Parts{made.first, made.second});
        if (made.composes) {
            whole_.emplace(pair_of(made.first, made.second), made.code);
            may_change_[made.second] = true;
        } else {
            may_change_[made.code] = true;
        }
    }
    for (auto code = first_vowel; code < before_tails + num_tails; ++code) {
        may_change_[code] = true;
    }
}

bool ComposedForm::is_composed(std::string_view text) const noexcept {
    constexpr unsigned char first_byte_of_marks = 0xCC;  // U+0300; characters before it never change
    for (std::size_t at = 0; at < text.size();) {
        if (static_cast<unsigned char>(text[at]) < first_byte_of_marks) {
            ++at;  // skips the second byte of a two-byte character
            continue;
        }
        const auto character = character_at(text, at);
        if (may_change_[character.code]) {
            return false;
        }
        at += character.bytes;
    }
    return true;
}

void ComposedForm::decompose(std::uint32_t code, std::vector<Mark>& marks) const {
    if (is_in(code, first_syllable, num_syllables)) {
        const auto index = code - first_syllable;
        marks.push_back({first_lead + index / (num_vowels * num_tails), 0});
        marks.push_back({first_vowel + index / num_tails % num_vowels, 0});
        if (index % num_tails != 0) {
            marks.push_back({before_tails + index % num_tails, 0});
        }
        return;
    }
    const auto made = parts_.find(code);
    if (made == parts_.end()) {
        marks.push_back({code, class_of_[code]});
        return;
    }
    decompose(made->second.first, marks);
    if (made->second.second != 0) {
        decompose(made->second.second, marks);
    }
}

std::uint32_t ComposedForm::whole_of(std::uint32_t first, std::uint32_t second) const {
    if (is_in(first, first_lead, num_leads) && is_in(second, first_vowel, num_vowels)) {
        return first_syllable + ((first - first_lead) * num_vowels + second - first_vowel) * num_tails;
    }
    const bool has_no_tail =
        is_in(first, first_syllable, num_syllables) && (first - first_syllable) % num_tails == 0;
    if (has_no_tail && is_in(second, before_tails + 1, num_tails - 1)) {
        return first + second - before_tails;
    }
    const auto whole = whole_.find(pair_of(first, second));
    return whole == whole_.end() ? 0 : whole->second;
}

std::string ComposedForm::of(std::string_view text) const {
    std::vector<Mark> marks;
    for (std::size_t at = 0; at < text.size();) {
        const auto character = character_at(text, at);
        decompose(character.code, marks);
        at += character.bytes;
    }
    for (auto begin = marks.begin(); begin != marks.end();) {
        const auto is_starter = [](const Mark& mark) { return mark.combining_class == 0; };
        begin = std::find_if_not(begin, marks.end(), is_starter);
        const auto end = std::find_if(begin, marks.end(), is_starter);
        std::stable_sort(begin, end,
                         [](const Mark& a, const Mark& b) { return a.combining_class < b.combining_class; });
        begin = end;
    }
    std::vector<Mark> composed;
    constexpr std::size_t none = ~std::size_t{0};
    std::size_t starter = none;
    for (const auto& mark : marks) {
        const bool is_under_starter = starter != none && composed.size() == starter + 1;
        const bool is_done =
            is_under_starter || (starter != none && composed.back().combining_class < mark.combining_class);
        if (const auto whole = is_done ? whole_of(composed[starter].code, mark.code) : 0; whole != 0) {
            composed[starter].code = whole;
            continue;
        }
        if (mark.combining_class == 0) {
            starter = composed.size();
        }
        composed.push_back(mark);
    }
    std::string made;
    for (const auto& mark : composed) {
        append_utf8(made, mark.code);
    }
    return made;
}

// A character that never changes separates the text: the parts before and after it are composed alone.
std::vector<std::uint32_t> ComposedForm::origins_of(std::string_view text) const {
    std::vector<std::uint32_t> origins;
    std::string made;
    for (std::size_t begin = 0; begin < text.size();) {
        auto end = begin + character_at(text, begin).bytes;
        while (end < text.size() && may_change_[character_at(text, end).code]) {
            end += character_at(text, end).bytes;
        }
        const auto part = text.substr(begin, end - begin);
        const auto composed = of(part);
        const bool is_same = composed == part;
        for (std::size_t i = 0; i < composed.size(); ++i) {
            origins.push_back(static_cast<std::uint32_t>(begin + (is_same ? i : 0)));
        }
        made += composed;
        begin = end;
    }
    ZG_ENSURES(made == of(text));
    origins.push_back(static_cast<std::uint32_t>(text.size()));
    return origins;
}

}  // namespace ziggurat::data
