#include <fmt/format.h>

#include <limits>
#include <string>

#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {
namespace {

/// Replaces each `from` in `text`.
void replace_all(std::string& text, const std::string& from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
}

/// Returns the text of the decoder's step Replace.
std::string replaced_text(const JsonObject& step) {
    step.has_only({"type", "pattern", "content"});
    const auto pattern = step.object("pattern");
    pattern.has_only({"String"});
    const auto text = pattern.text("String");
    if (text.empty()) {
        pattern.unsupported("is an empty text");
    }
    return text;
}

std::int64_t count_of(const JsonObject& step, const char* key) {
    const auto& count = step.at(key);
    if (!count.is_number_unsigned()) {
        step.refuse(fmt::format("has a {} that is not a count", key));
    }
    return count.get<std::int64_t>();
}

/// Returns the byte of a token such as <0x0A>; -1 for other tokens.
int byte_of(const std::string& token) {
    const bool is_spelled = token.size() == 6 && token.starts_with("<0x") && token.ends_with('>') &&
                            token.find_first_not_of("0123456789abcdefABCDEF", 3) == 5;
    return is_spelled ? std::stoi(token.substr(3, 2), nullptr, 16) : -1;
}

/// Adds the tokens before the text in a template. Tokens after the text are ignored.
void add_begin_tokens(const JsonObject& step, std::vector<std::int32_t>& tokens) {
    step.has_only({"type", "single", "pair", "special_tokens"});
    for (const auto& piece : step.list("single")) {
        if (piece.has("Sequence")) {
            return;
        }
        const auto name = piece.object("SpecialToken").text("id");
        const auto& ids = step.object("special_tokens").object(name.c_str()).at("ids");
        for (const auto& id : ids) {
            if (!id.is_number_unsigned() || id.get<std::uint64_t>() >> 31U != 0) {
                step.refuse(fmt::format("gives '{}' an invalid id", for_display(name)));
            }
            tokens.push_back(id.get<std::int32_t>());
        }
    }
}

}  // namespace

TextNormalizer read_normalizer(const JsonObject& file) {
    TextNormalizer made;
    for (const auto& step : steps_of(file, "normalizer", "normalizers")) {
        const auto type = step.type();
        if (type == "NFC") {
            made.add(make_composition());
        } else if (type == "Replace") {
            step.has_only({"type", "pattern", "content"});
            made.add(make_replacement(read_pattern(step), step.text("content")));
        } else if (type == "Prepend") {
            step.has_only({"type", "prepend"});
            made.add(make_prefix(step.text("prepend")));
        } else if (type == "Strip") {
            step.has_only({"type", "strip_left", "strip_right"});
            made.add(make_strip(step.boolean("strip_left"), step.boolean("strip_right")));
        } else {
            step.unsupported(fmt::format("is {}", for_display(type)));
        }
    }
    return made;
}

void read_character_decoder(const JsonObject& file, BpeParts& parts) {
    const auto steps = steps_of(file, "decoder", "decoders");
    if (steps.empty()) {
        parts.separator = " ";  // as decode() of tokenizers without a decoder
    }
    bool is_fused = false;
    for (const auto& step : steps) {
        const auto type = step.type();
        if (type == "Replace" && !is_fused) {
            const auto from = replaced_text(step);
            for (auto& token : parts.bytes_of_token) {
                replace_all(token, from, step.text("content"));
            }
        } else if (type == "ByteFallback" && !is_fused) {
            for (auto& token : parts.bytes_of_token) {
                if (const int byte = byte_of(token); byte >= 0) {
                    token = std::string(1, static_cast<char>(byte));
                }
            }
        } else if (type == "Fuse") {
            is_fused = true;
        } else if (type == "Strip" && is_fused && count_of(step, "stop") == 0 &&
                   step.text("content").size() == 1) {
            parts.stripped = {step.text("content").front(), count_of(step, "start"), false};
        } else if (type == "Metaspace" && steps.size() == 1) {
            const auto mark = step.text("replacement");
            const bool is_old = step.has("add_prefix_space") && !step.boolean("add_prefix_space");
            const bool is_marked =
                step.has("prepend_scheme") ? step.text("prepend_scheme") != "never" : !is_old;
            for (auto& token : parts.bytes_of_token) {
                replace_all(token, mark, " ");
            }
            if (is_marked) {
                parts.stripped = {' ', std::numeric_limits<std::int64_t>::max(), true};
            }
        } else {
            step.unsupported(fmt::format("is a {} in this position", for_display(type)));
        }
    }
}

std::vector<std::int32_t> read_begin_tokens(const JsonObject& file) {
    std::vector<std::int32_t> tokens;
    for (const auto& step : steps_of(file, "post_processor", "processors")) {
        if (step.type() == "TemplateProcessing") {
            add_begin_tokens(step, tokens);
        } else if (step.type() != "ByteLevel") {
            step.unsupported(fmt::format("is a {}", for_display(step.type())));
        }
    }
    return tokens;
}

}  // namespace ziggurat::data
