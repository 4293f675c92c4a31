#include "data/tokenizer/added_tokens.hpp"

#include <algorithm>
#include <utility>

#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

unsigned char first_byte_of(const AddedToken& token) {
    return static_cast<unsigned char>(token.content.front());
}

/// Returns the start of the white space that ends at `end`.
std::size_t begin_of_space(std::string_view text, std::size_t end) {
    while (end > 0) {
        const auto before = character_before(text, end);
        if (!is_white_space(character_at(text, before).code)) {
            break;
        }
        end = before;
    }
    return end;
}

/// Returns the end of the white space that begins at `begin`.
std::size_t end_of_space(std::string_view text, std::size_t begin) {
    while (begin < text.size()) {
        const auto character = character_at(text, begin);
        if (!is_white_space(character.code)) {
            break;
        }
        begin += character.bytes;
    }
    return begin;
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_{std::move(tokens)} {
    std::ranges::stable_sort(tokens_, [](const AddedToken& a, const AddedToken& b) {
        return first_byte_of(a) != first_byte_of(b) ? first_byte_of(a) < first_byte_of(b)
                                                    : a.content.size() > b.content.size();
    });
    for (const auto& token : tokens_) {
        ++first_of_byte_[first_byte_of(token) + std::size_t{1}];
    }
    for (std::size_t byte = 1; byte < first_of_byte_.size(); ++byte) {
        first_of_byte_[byte] += first_of_byte_[byte - 1];
    }
}

const AddedToken* AddedTokenFinder::find(std::string_view text, std::size_t from, std::size_t& at) const {
    for (at = from; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        for (auto i = first_of_byte_[byte]; i < first_of_byte_[byte + std::size_t{1}]; ++i) {
            if (text.substr(at).starts_with(tokens_[i].content)) {
                return &tokens_[i];
            }
        }
    }
    return nullptr;
}

// Same as AddedVocabulary::find_matches() of Hugging Face's tokenizers: the search continues after the
// token's own text, even if the white space that it has consumed after it contains another token.
void AddedTokenFinder::cut(std::string_view text, std::vector<TextSegment>& segments) const {
    const auto add = [&](std::size_t begin, std::size_t end, std::int32_t token) {
        if (begin < end) {
            segments.push_back({text.substr(begin, end - begin), token});
        }
    };
    std::size_t done = 0;
    std::size_t from = 0;
    std::size_t begin = 0;
    while (!tokens_.empty()) {
        const AddedToken* token = find(text, from, begin);
        if (token == nullptr) {
            break;
        }
        std::size_t end = begin + token->content.size();
        from = end;
        if (token->takes_left_space) {
            begin = std::max(begin_of_space(text, begin), done);
        }
        if (token->takes_right_space) {
            end = end_of_space(text, end);
        }
        add(done, begin, TextSegment::no_token);
        add(begin, end, token->id);
        done = end;
    }
    add(done, text.size(), TextSegment::no_token);
}

}  // namespace ziggurat::data
