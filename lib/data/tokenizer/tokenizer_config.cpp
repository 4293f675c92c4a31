#include "data/tokenizer/tokenizer_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "data/content_key.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {
namespace {

namespace fs = std::filesystem;

constexpr std::array special_keys{"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};

/// Returns the text of a token in the files: a text, or an object with `content`. Empty: neither.
std::string text_of(const TokenizerJson& token) {
    if (token.is_string()) {
        return token.get<std::string>();
    }
    const bool has_content = token.is_object() && token.contains("content") && token["content"].is_string();
    return has_content ? token["content"].get<std::string>() : "";
}

void read_special_tokens(const TokenizerJson& json, TokenizerConfig& config) {
    const auto add = [&](const std::string& text) {
        if (!text.empty() && std::ranges::find(config.special, text) == config.special.end()) {
            config.special.push_back(text);
        }
    };
    for (const char* key : special_keys) {
        add(json.contains(key) ? text_of(json[key]) : "");
    }
    if (json.contains("additional_special_tokens") && json["additional_special_tokens"].is_array()) {
        for (const auto& token : json["additional_special_tokens"]) {
            add(text_of(token));
        }
    }
    for (const auto& [key, text] :
         {std::pair{"bos_token", &config.begin}, std::pair{"eos_token", &config.end},
          std::pair{"unk_token", &config.unknown}}) {
        if (text->empty() && json.contains(key)) {
            *text = text_of(json[key]);
        }
    }
}

std::int32_t id_of(const JsonObject& file, const std::string& text) {
    std::int32_t id = -1;
    const auto* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, id);
    if (read.ec != std::errc{} || read.ptr != end || id < 0) {
        file.refuse(fmt::format("has '{}' instead of an id from 0 to 2147483647", for_display(text)));
    }
    return id;
}

AddedToken added_token(const JsonObject& token, std::int32_t id) {
    AddedToken added;
    added.content = token.text("content");
    added.id = id;
    added.takes_left_space = token.boolean("lstrip", false);
    added.takes_right_space = token.boolean("rstrip", false);
    added.is_normalized = token.boolean("normalized", !token.boolean("special", false));
    if (added.content.empty()) {
        token.refuse("has no content");
    }
    if (token.boolean("single_word", false)) {
        token.unsupported("has single_word = true");
    }
    return added;
}

void read_added_tokens_decoder(const JsonObject& file, TokenizerConfig& config) {
    const auto tokens = file.object("added_tokens_decoder");
    for (const auto& [id, token] : file.at("added_tokens_decoder").items()) {
        config.added.push_back(added_token(tokens.object(id.c_str()), id_of(tokens, id)));
    }
}

void read_config(const std::string& path, TokenizerConfig& config) {
    const MappedFile file{path, "tokenizer"};
    const auto json = parse_json_file(file);
    const JsonObject fields{json, "", file.path()};
    read_special_tokens(json, config);
    config.tokenizer_class = fields.has("tokenizer_class") ? fields.text("tokenizer_class") : "";
    if (fields.has("add_bos_token")) {
        config.adds_begin = fields.boolean("add_bos_token");
    }
    config.is_of_version_5 = fields.has("backend");
    config.is_legacy = fields.boolean("legacy", true);
    if (fields.has("added_tokens_decoder")) {
        read_added_tokens_decoder(fields, config);
    }
}

void read_added_tokens_file(const std::string& path, TokenizerConfig& config) {
    const MappedFile file{path, "tokenizer"};
    const auto json = parse_json_file(file);
    const JsonObject fields{json, "", file.path()};
    for (const auto& [text, id] : json.items()) {
        if (text.empty() || !id.is_number_unsigned() || id.get<std::uint64_t>() >> 31U != 0) {
            fields.refuse(
                fmt::format("gives '{}' an id that is not from 0 to 2147483647", for_display(text)));
        }
        const bool is_special = std::ranges::find(config.special, text) != config.special.end();
        config.added.push_back({.content = text, .id = id.get<std::int32_t>(), .is_normalized = !is_special});
    }
}

}  // namespace

bool TokenizerConfig::decides_on_begin() const {
    constexpr std::array decides{"LlamaTokenizer",         "LlamaTokenizerFast", "CodeLlamaTokenizer",
                                 "CodeLlamaTokenizerFast", "GemmaTokenizer",     "GemmaTokenizerFast",
                                 "CohereTokenizer",        "CohereTokenizerFast"};
    return (adds_begin || !is_of_version_5) && std::ranges::find(decides, tokenizer_class) != decides.end();
}

TokenizerConfig read_tokenizer_config(const std::string& folder) {
    TokenizerConfig config;
    const auto path_of = [&](const char* name) { return (fs::path{folder} / name).string(); };
    const auto exists = [&](const char* name) {
        const bool is_here = stamp_of(path_of(name)).has_value();
        config.is_present = config.is_present || is_here;
        return is_here;
    };
    config.path = path_of("tokenizer_config.json");
    if (exists("tokenizer_config.json")) {
        read_config(config.path, config);
    }
    if (exists("special_tokens_map.json")) {
        const MappedFile file{path_of("special_tokens_map.json"), "tokenizer"};
        const auto json = parse_json_file(file);
        if (json.is_object()) {
            read_special_tokens(json, config);
        }
    }
    if (exists("added_tokens.json") && config.added.empty()) {
        read_added_tokens_file(path_of("added_tokens.json"), config);
    }
    std::ranges::stable_sort(config.added, {}, &AddedToken::id);
    return config;
}

std::uint64_t configuration_hash(const std::string& tokenizer) {
    std::error_code unreadable;
    const fs::path path{tokenizer};
    const auto folder = fs::is_directory(path, unreadable) ? path : path.parent_path();
    ContentKey key{"configuration of a tokenizer", 1};
    for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
        const auto hash = tokenizer.empty() ? 0 : whole_file_hash((folder / name).string());
        key.add(name, fmt::format("{:016x}", hash));
    }
    return key.hash();
}

}  // namespace ziggurat::data
