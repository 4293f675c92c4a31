#include "data/unicode/newer_encoding.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "data/unicode/characters.hpp"
#include "data/unicode/unicode_data_impl.hpp"

namespace ziggurat::data {
namespace {

std::optional<LetterPair> pair_of(std::uint32_t code) {
    const auto* const found = std::ranges::find_if(newer_letter_pairs, [&](const LetterPair& pair) {
        return pair.capital == code || pair.small == code;
    });
    return found == std::end(newer_letter_pairs) ? std::nullopt : std::optional{*found};
}

Utf8Character first_character(const OnigUChar* begin, const OnigUChar* end) {
    return character_at({reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)}, 0);
}

/// Writes the small letter of the character at *at, and moves *at after it.
///
/// Returns the number of bytes written.
int fold_character(OnigCaseFoldType flag, const OnigUChar** at, const OnigUChar* end, OnigUChar* folded) {
    if (**at >= 0x80) {
        const auto character = first_character(*at, end);
        if (const auto pair = pair_of(character.code)) {
            *at += character.bytes;
            return ONIG_ENCODING_UTF8->code_to_mbc(pair->small, folded);
        }
    }
    return ONIG_ENCODING_UTF8->mbc_case_fold(flag, at, end, folded);
}

/// Calls `apply` for each code and the code that it matches; extends classes in brackets.
int apply_to_all_pairs(OnigCaseFoldType flag, OnigApplyAllCaseFoldFunc apply, void* argument) {
    int code = ONIG_ENCODING_UTF8->apply_all_case_fold(flag, apply, argument);
    for (const auto& pair : newer_letter_pairs) {
        OnigCodePoint small = pair.small;
        OnigCodePoint capital = pair.capital;
        code = code == 0 ? apply(capital, &small, 1, argument) : code;
        code = code == 0 ? apply(small, &capital, 1, argument) : code;
    }
    return code;
}

/// Lists the matches of the text at `begin`; extends literals.
int find_folded(OnigCaseFoldType flag,
                const OnigUChar* begin,
                const OnigUChar* end,
                OnigCaseFoldCodeItem items[]) {
    const int count = ONIG_ENCODING_UTF8->get_case_fold_codes_by_str(flag, begin, end, items);
    if (count != 0 || begin == end || *begin < 0x80) {
        return count;
    }
    const auto character = first_character(begin, end);
    const auto pair = pair_of(character.code);
    if (!pair) {
        return 0;
    }
    items[0].byte_len = static_cast<int>(character.bytes);
    items[0].code_len = 1;
    items[0].code[0] = character.code == pair->small ? pair->capital : pair->small;
    return 1;
}

}  // namespace

OnigEncoding newer_utf8() {
    static OnigEncodingType encoding = [] {
        OnigEncodingType made = *ONIG_ENCODING_UTF8;
        made.mbc_case_fold = fold_character;
        made.apply_all_case_fold = apply_to_all_pairs;
        made.get_case_fold_codes_by_str = find_folded;
        return made;
    }();
    return &encoding;
}

}  // namespace ziggurat::data
