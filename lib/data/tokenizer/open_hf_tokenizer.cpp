#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/tokenizer/tokenizer_config.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {
namespace {

namespace fs = std::filesystem;

std::optional<std::int32_t> id_of(const std::vector<AddedToken>& tokens, const std::string& text) {
    const auto found = std::ranges::find(tokens, text, &AddedToken::content);
    return found == tokens.end() || text.empty() ? std::nullopt : std::optional{found->id};
}

/// Checks that the decoder is that of a byte-level BPE.
void expect_byte_level_decoder(const JsonObject& file) {
    for (const auto& step : steps_of(file, "decoder", "decoders")) {
        if (step.type() != "ByteLevel") {
            step.unsupported(fmt::format("is a {}", for_display(step.type())));
        }
    }
}

std::optional<std::int32_t> document_token_of(const std::vector<AddedToken>& tokens,
                                              const TokenizerConfig& config) {
    if (!config.end.empty()) {
        const auto id = id_of(tokens, config.end);
        if (!id) {
            refuse_tokenizer(config.path, fmt::format("its eos_token '{}' is not among the added_tokens of "
                                                      "tokenizer.json",
                                                      for_display(config.end)));
        }
        return id;
    }
    for (const char* usual : {"<|endoftext|>", "<|end_of_text|>", "</s>"}) {
        if (const auto id = id_of(tokens, usual)) {
            return id;
        }
    }
    return std::nullopt;
}

/// Sets the begin token from the post-processor, or from tokenizer_config.json for classes that use it.
void choose_begin_token(const JsonObject& file, const TokenizerConfig& config, BpeParts& parts) {
    const auto tokens = read_begin_tokens(file);
    parts.begin_token = id_of(parts.added_tokens, config.begin);
    if (config.decides_on_begin()) {
        parts.adds_begin_token = config.adds_begin_token() && parts.begin_token;
        return;
    }
    if (tokens.size() > 1) {
        file.unsupported(
            fmt::format("has a post_processor that adds {} tokens before a text", tokens.size()));
    }
    if (!tokens.empty()) {
        parts.begin_token = tokens.front();
        parts.adds_begin_token = true;
    }
}

std::unique_ptr<const TextTokenizer> open_tokenizer_json(const fs::path& path) {
    const MappedFile file{path.string(), "tokenizer"};
    const auto json = parse_json_file(file);
    const JsonObject fields{json, "", file.path()};
    fields.has_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                     "post_processor", "decoder", "model"});
    if (fields.has("version") && fields.text("version") != "1.0") {
        fields.unsupported(fmt::format("has version {}", for_display(fields.text("version"))));
    }
    for (const char* cut : {"truncation", "padding"}) {
        if (fields.has(cut)) {
            fields.unsupported(fmt::format("has {}", cut));
        }
    }
    const auto config = read_tokenizer_config(path.parent_path().string());
    BpeParts parts;
    read_bpe_model(fields, config, parts);
    parts.normalizer = read_normalizer(fields);
    parts.pre_tokenizer = read_pre_tokenizer(fields);
    if (has_byte_level(fields)) {
        expect_byte_level_decoder(fields);
    } else {
        read_character_decoder(fields, parts);
    }
    parts.document_token = document_token_of(parts.added_tokens, config);
    choose_begin_token(fields, config, parts);
    parts.hash = XXH3_64bits(file.content().data(), file.content().size());
    parts.path = file.path();
    return make_bpe_tokenizer(std::move(parts));
}

}  // namespace

std::unique_ptr<const TextTokenizer> open_hf_tokenizer(const std::string& path) {
    std::error_code problem;
    if (!fs::is_directory(path, problem)) {
        return open_tokenizer_json(path);
    }
    const auto model = fs::path{path} / "tokenizer.model";
    try {
        return open_tokenizer_json(fs::path{path} / "tokenizer.json");
    } catch (const TokenizerNotBuilt& unsupported) {
        if (!fs::exists(model, problem)) {
            throw;
        }
        try {
            return open_sentencepiece_tokenizer(model.string(), unsupported.what());
        } catch (const Error& error) {
            const std::string reason = unsupported.what();
            throw Error{error.kind(), fmt::format("{} Its tokenizer.model cannot be used either: {}", reason,
                                                  error.what())};
        }
    }
}

}  // namespace ziggurat::data
