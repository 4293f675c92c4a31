/// Small tokenizer.json files for tests.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/unicode/byte_alphabet.hpp"

namespace ziggurat::test {

inline constexpr const char* llama3_expression =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Returns bytes as spelled in a vocabulary.
inline std::string spelled(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        text += data::letter_of(static_cast<unsigned char>(c));
    }
    return text;
}

/// Returns a tokenizer of the 256 bytes, by their values, then the results of the merges, in order.
inline nlohmann::json tokenizer_json(const std::vector<std::pair<std::string, std::string>>& merges) {
    nlohmann::json model = {
        {"type", "BPE"}, {"vocab", nlohmann::json::object()}, {"merges", nlohmann::json::array()}};
    int id = 0;
    for (int byte = 0; byte < 256; ++byte) {
        model["vocab"][data::letter_of(static_cast<unsigned char>(byte))] = id++;
    }
    for (const auto& [left, right] : merges) {
        model["merges"].push_back(spelled(left) + " " + spelled(right));
        const auto [position, is_new] = model["vocab"].emplace(spelled(left + right), id);
        id += is_new ? 1 : 0;
    }
    return {{"version", "1.0"},
            {"added_tokens", nlohmann::json::array()},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model", model}};
}

/// Returns an added token in the format of the file.
inline nlohmann::json added_token(std::int64_t id, const std::string& content) {
    return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
            {"rstrip", false}, {"normalized", false}, {"special", true}};
}

}  // namespace ziggurat::test
