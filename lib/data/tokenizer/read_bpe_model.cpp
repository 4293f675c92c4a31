#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "data/tokenizer/tokenizer_json_impl.hpp"
#include "data/unicode/byte_alphabet.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

/// Checks that the model is BPE: by its type, or by the keys of its content if it has no type.
void expect_bpe(const JsonObject& model) {
    if (model.has("type") && model.type() != "BPE") {
        model.unsupported(fmt::format("is a {}", for_display(model.type())));
    }
    if (!model.has("merges")) {
        model.unsupported("has no merges, so it is not BPE");
    }
    model.has_only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                    "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (model.has("dropout") && model.at("dropout") != 0.0) {
        model.unsupported(fmt::format("has dropout = {}", for_display(model.at("dropout").dump())));
    }
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
        if (model.has(key) && !model.text(key).empty()) {
            model.unsupported(fmt::format("has {} = '{}'", key, for_display(model.text(key))));
        }
    }
}

Vocabulary read_vocabulary(const JsonObject& model) {
    const auto& vocab = model.at("vocab");
    if (!vocab.is_object()) {
        model.refuse("has a vocab that is not an object of ids");
    }
    Vocabulary vocabulary;
    vocabulary.reserve(vocab.size());
    std::vector<bool> is_taken(vocab.size());
    for (const auto& [text, id] : vocab.items()) {
        if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= vocab.size()) {
            model.refuse(fmt::format("gives '{}' the id {}, but {} tokens have ids 0 to {}",
                                     for_display(text), for_display(id.dump()), vocab.size(),
                                     vocab.size() - 1));
        }
        const auto number = id.get<std::size_t>();
        if (is_taken[number]) {
            model.refuse(fmt::format("gives the id {} to two tokens, one of which is '{}'", number,
                                     for_display(text)));
        }
        is_taken[number] = true;
        vocabulary.emplace(text, static_cast<std::int32_t>(number));
    }
    return vocabulary;
}

/// Returns the two texts of a merge: `a b`, or a list of both.
std::pair<std::string, std::string> parts_of(const JsonObject& model, const TokenizerJson& merge) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        return {merge[0].get<std::string>(), merge[1].get<std::string>()};
    }
    if (merge.is_string()) {
        const auto& both = merge.get_ref<const std::string&>();
        const auto space = both.find(' ');
        if (space != std::string::npos && both.find(' ', space + 1) == std::string::npos) {
            return {both.substr(0, space), both.substr(space + 1)};
        }
    }
    model.refuse(fmt::format("has a merge {} that is not a pair of tokens", for_display(merge.dump())));
}

std::int32_t id_of(const JsonObject& model, const Vocabulary& vocabulary, const std::string& text) {
    const auto found = vocabulary.find(text);
    if (found == vocabulary.end()) {
        model.refuse(fmt::format("has a merge with '{}', which is not in its vocab", for_display(text)));
    }
    return found->second;
}

MergeTable read_merges(const JsonObject& model, const Vocabulary& vocabulary) {
    const auto& merges = model.at("merges");
    if (!merges.is_array()) {
        model.refuse("has merges that are not a list");
    }
    MergeTable table{merges.size()};
    std::uint32_t rank = 0;
    for (const auto& merge : merges) {
        if (merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version")) {
            continue;
        }
        const auto [left, right] = parts_of(model, merge);
        table.add(id_of(model, vocabulary, left), id_of(model, vocabulary, right),
                  {rank++, id_of(model, vocabulary, left + right)});
    }
    return table;
}

void read_byte_tokens(const JsonObject& model, const Vocabulary& vocabulary, BpeParts& parts) {
    for (int byte = 0; byte < 256; ++byte) {
        const auto letter = letter_of(static_cast<unsigned char>(byte));
        const auto found = vocabulary.find(letter);
        if (found == vocabulary.end()) {
            model.unsupported(fmt::format("has no token for the byte 0x{:02x} ('{}')", byte, letter));
        }
        parts.token_of_byte[byte] = found->second;
    }
}

void read_character_tokens(const JsonObject& model, const Vocabulary& vocabulary, BpeParts& parts) {
    parts.token_of_character.assign(max_code + 1, -1);
    for (const auto& [text, id] : vocabulary) {
        if (!text.empty() && character_at(text, 0).bytes == text.size()) {
            parts.token_of_character[character_at(text, 0).code] = id;
        }
    }
    parts.falls_back_to_bytes = model.boolean("byte_fallback", false);
    for (std::size_t byte = 0; byte < parts.token_of_byte.size(); ++byte) {
        const auto found = vocabulary.find(fmt::format("<0x{:02X}>", byte));
        parts.token_of_byte[byte] = found == vocabulary.end() ? -1 : found->second;
    }
    parts.fuses_unknown = model.boolean("fuse_unk", false);
    if (model.has("unk_token")) {
        const auto found = vocabulary.find(model.text("unk_token"));
        if (found == vocabulary.end()) {
            model.refuse(fmt::format("has unk_token '{}', which is not in its vocab",
                                     for_display(model.text("unk_token"))));
        }
        parts.unknown_token = found->second;
    }
}

}  // namespace

void read_bpe_model(const JsonObject& file, const TokenizerConfig& config, BpeParts& parts) {
    const auto model = file.object("model");
    expect_bpe(model);
    const auto vocabulary = read_vocabulary(model);
    const bool is_of_bytes = has_byte_level(file);
    if (is_of_bytes && model.boolean("byte_fallback", false)) {
        model.unsupported("has byte_fallback = true with a pre_tokenizer ByteLevel");
    }
    if (is_of_bytes) {
        read_byte_tokens(model, vocabulary, parts);
    } else {
        read_character_tokens(model, vocabulary, parts);
    }
    parts.merges = read_merges(model, vocabulary);
    parts.added_tokens = read_added_tokens(file, config, vocabulary);

    const bool ignores_merges = model.boolean("ignore_merges", false);
    parts.bytes_of_token.resize(vocabulary.size());
    for (const auto& [text, id] : vocabulary) {
        const auto bytes = is_of_bytes ? spelled_bytes(text) : std::optional{text};
        parts.bytes_of_token[id] = bytes.value_or(text);
        if (ignores_merges && bytes) {
            parts.token_of_piece.emplace(*bytes, id);
        }
    }
    if (!is_of_bytes) {
        for (const auto& text : parts.bytes_of_token) {
            parts.piece_bytes_of_token.push_back(static_cast<std::int32_t>(text.size()));
        }
        for (const auto id : parts.token_of_byte) {
            if (id >= 0 && parts.falls_back_to_bytes) {
                parts.piece_bytes_of_token[id] = 1;
            }
        }
    }
    for (const auto& token : parts.added_tokens) {
        const std::size_t id = token.id;
        parts.bytes_of_token.resize(std::max(parts.bytes_of_token.size(), id + 1));
        parts.bytes_of_token[id] = token.content;
    }
}

}  // namespace ziggurat::data
