#include "data/chat/chat_template.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "data/mapped_file.hpp"
#include "data/tokenizer/tokenizer_json_impl.hpp"
#include "data/unicode/characters.hpp"

namespace ziggurat::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* key = "template";
constexpr const char* default_name = "default";
constexpr const char* tool_name = "tool_use";
constexpr const char* folder_of_others = "additional_chat_templates";
constexpr std::int64_t max_bytes = std::int64_t{1} << 20;

struct NamedTemplate {
    std::string text, path;
};
using Templates = std::map<std::string, NamedTemplate>;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
    throw Error{ErrorKind::deck,
                fmt::format("cannot use the chat template of '{}' ({}). Name a Jinja file, or "
                            "fetch the tokenizer again.",
                            printable(path), reason)};
}

bool is_file(const fs::path& path) {
    std::error_code problem;
    return fs::is_regular_file(path, problem);
}

NamedTemplate checked(std::string text, const std::string& path) {
    if (std::ssize(text) > max_bytes) {
        refuse(path, fmt::format("{} bytes, more than {}", text.size(), max_bytes));
    }
    if (first_invalid_utf8(text) < text.size()) {
        refuse(path, "it is not UTF-8");
    }
    return {std::move(text), path};
}

NamedTemplate read_template(const fs::path& path) {
    const MappedFile file{path.string(), key};
    return checked({reinterpret_cast<const char*>(file.content().data()), file.content().size()},
                   path.string());
}

void add_templates_of_config(const TokenizerJson& config, const std::string& path, Templates& templates) {
    const auto found = config.find("chat_template");
    if (found == config.end() || found->is_null()) {
        return;
    }
    if (found->is_string()) {
        templates.try_emplace(default_name, checked(found->get<std::string>(), path));
        return;
    }
    if (!found->is_array()) {
        refuse(path, "its chat_template is neither a text nor a list");
    }
    for (const auto& entry : *found) {
        const bool is_valid = entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
                              entry.contains("template") && entry["template"].is_string();
        if (!is_valid) {
            refuse(path, "an entry of its chat_template is not {name, template}");
        }
        templates.try_emplace(entry["name"].get<std::string>(),
                              checked(entry["template"].get<std::string>(), path));
    }
}

Templates templates_of(const fs::path& folder, const TokenizerJson& config) {
    Templates templates;
    if (const auto own = folder / "chat_template.jinja"; is_file(own)) {
        templates.emplace(default_name, read_template(own));
    }
    std::error_code problem;
    for (const auto& entry : fs::directory_iterator{folder / folder_of_others, problem}) {
        if (entry.path().extension() == ".jinja" && is_file(entry.path())) {
            templates.try_emplace(entry.path().stem().string(), read_template(entry.path()));
        }
    }
    if (templates.empty()) {
        add_templates_of_config(config, (folder / "tokenizer_config.json").string(), templates);
    }
    return templates;
}

/// Returns the object of a file next to the tokenizer; empty if it does not exist.
TokenizerJson object_of(const fs::path& path) {
    if (!is_file(path)) {
        return TokenizerJson::object();
    }
    const MappedFile file{path.string(), "tokenizer"};
    auto json = parse_json_file(file);
    if (!json.is_object()) {
        refuse_tokenizer(path.string(), "its content is not an object");
    }
    return json;
}

std::optional<std::string> text_of(const TokenizerJson& token) {
    if (token.is_string()) {
        return token.get<std::string>();
    }
    const bool has_content = token.is_object() && token.contains("content") && token["content"].is_string();
    return has_content ? std::optional{token["content"].get<std::string>()} : std::nullopt;
}

std::optional<NamedToken> named_token(const std::string& name, const TokenizerJson& json) {
    if (!json.contains(name)) {
        return std::nullopt;
    }
    NamedToken token{.name = name, .texts = {}, .is_list = json[name].is_array()};
    for (const auto& one : token.is_list ? json[name] : TokenizerJson::array({json[name]})) {
        if (const auto text = text_of(one)) {
            token.texts.push_back(*text);
        }
    }
    return token.texts.empty() ? std::nullopt : std::optional{token};
}

std::vector<NamedToken> special_tokens_of(const TokenizerJson& config, const TokenizerJson& map) {
    std::vector<NamedToken> tokens;
    for (const char* name : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token",
                             "mask_token", "additional_special_tokens"}) {
        if (auto token = named_token(name, config)) {
            tokens.push_back(std::move(*token));
        } else if (auto other = named_token(name, map)) {
            tokens.push_back(std::move(*other));
        }
    }
    return tokens;
}

[[noreturn]] void refuse_choice(const fs::path& folder,
                                const Templates& templates,
                                const std::string& choice) {
    if (templates.empty()) {
        throw Error{
            ErrorKind::deck,
            fmt::format("the tokenizer of '{}' has no chat template (neither chat_template.jinja nor "
                        "chat_template in tokenizer_config.json){}. Name a Jinja file as the template.",
                        printable(folder.string()),
                        choice.empty() ? "" : fmt::format(", and '{}' is not a file", printable(choice)))};
    }
    std::string names;
    for (const auto& [name, unused] : templates) {
        names += (names.empty() ? "" : ", ") + for_display(name);
    }
    throw Error{
        ErrorKind::deck,
        fmt::format("the tokenizer in '{}' has no chat template '{}', and no file has "
                    "this name. Name a Jinja file or one of: {}.",
                    printable(folder.string()), printable(choice.empty() ? default_name : choice), names)};
}

bool is_default_choice(const std::string& choice) {
    return choice.empty() || choice == "auto";
}

}  // namespace

std::string ChatTemplate::end_token() const {
    const auto found = std::ranges::find(special_tokens, "eos_token", &NamedToken::name);
    return found == special_tokens.end() ? "" : found->texts.front();
}

std::uint64_t ChatTemplate::hash() const {
    const auto of_text = XXH3_64bits(text.data(), text.size());
    const auto hash =
        tool_text.empty() ? of_text : XXH3_64bits_withSeed(tool_text.data(), tool_text.size(), of_text);
    return std::max<std::uint64_t>(hash, 1);
}

ChatTemplate find_chat_template(const std::string& tokenizer, const std::string& choice) {
    std::error_code problem;
    const fs::path path{tokenizer};
    const fs::path folder = fs::is_directory(path, problem) ? path : path.parent_path();
    const bool has_folder = !tokenizer.empty();
    const auto config = has_folder ? object_of(folder / "tokenizer_config.json") : TokenizerJson::object();
    const auto templates = has_folder ? templates_of(folder, config) : Templates{};
    const bool is_default = is_default_choice(choice);
    const auto chosen = templates.find(is_default ? default_name : choice);

    ChatTemplate made;
    made.special_tokens = special_tokens_of(
        config, has_folder ? object_of(folder / "special_tokens_map.json") : TokenizerJson::object());
    if (chosen == templates.end() && (is_default || !is_file(choice))) {
        refuse_choice(folder, templates, is_default ? "" : choice);
    }
    const auto named = chosen != templates.end() ? chosen->second : read_template(choice);
    made.text = named.text;
    made.path = named.path;
    if (const auto tools = templates.find(tool_name); is_default && tools != templates.end()) {
        made.tool_text = tools->second.text;
        made.tool_path = tools->second.path;
    }
    return made;
}

OptionalTemplate find_optional_template(const std::string& tokenizer, const std::string& choice) {
    try {
        return {find_chat_template(tokenizer, choice), ""};
    } catch (const Error& problem) {
        if (problem.kind() != ErrorKind::deck || !is_default_choice(choice)) {
            throw;
        }
        return {std::nullopt, problem.what()};
    }
}

}  // namespace ziggurat::data
