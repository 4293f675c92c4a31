#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <new>

#include "base/error.hpp"
#include "base/json_depth.hpp"
#include "base/printable.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"

namespace ziggurat::data {
namespace {

constexpr int deepest = 32;
constexpr const char* key = "tokenizer";

TokenizerJson parse(const MappedFile& file) {
    const std::string_view text{reinterpret_cast<const char*>(file.content().data()), file.content().size()};
    expect_tokenizer(file.path(), text);
    if (is_json_deeper(text, deepest)) {
        refuse_tokenizer(file.path(), fmt::format("its brackets nest deeper than {}", deepest));
    }
    try {
        return TokenizerJson::parse(text);
    } catch (const TokenizerJson::exception& problem) {
        refuse_tokenizer(file.path(), fmt::format("it is no JSON: {}", told(problem.what())));
    } catch (const std::bad_alloc&) {
        throw Error{ErrorKind::resource, fmt::format("no memory for '{}' ({} bytes). Free some.",
                                                     printable(file.path()), file.bytes())};
    }
}

/// Steps of a part: itself, or those of a sequence.
std::vector<JsonObject> steps_of(const JsonObject& file, const char* name, const char* inner) {
    if (!file.has(name)) {
        return {};
    }
    const auto whole = file.object(name);
    return whole.type() == "Sequence" ? whole.list(inner) : std::vector{whole};
}

/// Null where there is none.
std::unique_ptr<const ComposedForm> read_normalizer(const JsonObject& file) {
    const auto steps = steps_of(file, "normalizer", "normalizers");
    for (const auto& step : steps) {
        if (step.type() != "NFC") {
            step.not_built(fmt::format("is {}", told(step.type())));
        }
    }
    return steps.empty() ? nullptr : std::make_unique<const ComposedForm>();
}

/// Decoding is by bytes. What a post-processor adds, texts that are encoded do not get.
void expect_byte_level_around(const JsonObject& file) {
    for (const auto& step : steps_of(file, "decoder", "decoders")) {
        if (step.type() != "ByteLevel") {
            step.not_built(fmt::format("is a {}", told(step.type())));
        }
    }
    for (const auto& step : steps_of(file, "post_processor", "processors")) {
        if (step.type() != "ByteLevel" && step.type() != "TemplateProcessing") {
            step.not_built(fmt::format("is a {}", told(step.type())));
        }
    }
}

/// The text of eos_token in tokenizer_config.json; empty where there is none.
std::string end_of_sequence(const std::string& config_path) {
    if (!stamp_of(config_path)) {
        return "";
    }
    const MappedFile config{config_path, key};
    const auto json = parse(config);
    const JsonObject fields{json, "", config_path};
    if (!fields.has("eos_token")) {
        return "";
    }
    return fields.at("eos_token").is_object() ? fields.object("eos_token").text("content")
                                              : fields.text("eos_token");
}

std::optional<std::int32_t> document_token_of(const std::vector<AddedToken>& tokens,
                                              const std::string& config_path) {
    const auto id_of = [&](const std::string& text) -> std::optional<std::int32_t> {
        const auto found = std::ranges::find(tokens, text, &AddedToken::content);
        return found == tokens.end() ? std::nullopt : std::optional{found->id};
    };
    if (const auto named = end_of_sequence(config_path); !named.empty()) {
        const auto id = id_of(named);
        if (!id) {
            refuse_tokenizer(config_path, fmt::format("its eos_token '{}' is none of the added_tokens of "
                                                      "tokenizer.json",
                                                      told(named)));
        }
        return id;
    }
    const auto id = id_of("<|endoftext|>");
    return id ? id : id_of("<|end_of_text|>");
}

}  // namespace

std::unique_ptr<const TextTokenizer> open_hf_tokenizer(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code problem;
    const fs::path file_path =
        fs::is_directory(path, problem) ? fs::path{path} / "tokenizer.json" : fs::path{path};
    const MappedFile file{file_path.string(), key};
    const auto json = parse(file);
    const JsonObject fields{json, "", file.path()};
    fields.has_only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                     "post_processor", "decoder", "model"});
    if (fields.has("version") && fields.text("version") != "1.0") {
        fields.not_built(fmt::format("is of version {}", told(fields.text("version"))));
    }
    for (const char* cut : {"truncation", "padding"}) {
        if (fields.has(cut)) {
            fields.not_built(fmt::format("has {}", cut));
        }
    }
    expect_byte_level_around(fields);
    BpeParts parts;
    read_bpe_model(fields, parts);
    parts.normalizer = read_normalizer(fields);
    parts.pre_tokenizer = read_pre_tokenizer(fields);
    parts.document_token =
        document_token_of(parts.added_tokens, (file_path.parent_path() / "tokenizer_config.json").string());
    parts.hash = XXH3_64bits(file.content().data(), file.content().size());
    parts.path = file.path();
    return make_bpe_tokenizer(std::move(parts));
}

}  // namespace ziggurat::data
