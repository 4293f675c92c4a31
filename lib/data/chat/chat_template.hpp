/// Chat templates of tokenizers: Jinja texts that render conversations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ziggurat::data {

/// A special token of a tokenizer by its name in templates: `eos_token`.
struct NamedToken {
    std::string name;
    std::vector<std::string> texts;  ///< one, or those of additional_special_tokens
    bool is_list = false;            ///< a template gets a list

    bool operator==(const NamedToken&) const = default;
};

/// A template with the names that transformers defines in it.
struct ChatTemplate {
    std::string text;
    std::string path;  ///< file of the text, for messages
    /// Template for records with tools, and its file; empty: `text` is for them too.
    std::string tool_text, tool_path;
    std::vector<NamedToken> special_tokens;

    /// Returns the text of eos_token; empty if the tokenizer defines no such token.
    std::string end_token() const;

    /// Returns XXH3-64 of the texts of the templates; never 0.
    std::uint64_t hash() const;
};

/// Finds the template of a tokenizer.
///
/// A folder has it as chat_template.jinja, else as the key chat_template of tokenizer_config.json: a text, or
/// a list of {name, template}. additional_chat_templates/NAME.jinja are further ones. If the default is
/// chosen and a template `tool_use` exists, records with tools get that one.
///
/// \param tokenizer  a file of the tokenizer, or its folder; empty: a tokenizer without files
/// \param choice     empty or `auto`: the template `default`; the name of another one; or a file
/// Source: transformers 4.46.3, get_chat_template; 4.57, save_chat_templates
/// Errors: Error{deck} that names the files that were searched, or the names of the templates
ChatTemplate find_chat_template(const std::string& tokenizer, const std::string& choice);

/// A template, or the reason why it is missing.
struct OptionalTemplate {
    std::optional<ChatTemplate> chat;
    std::string reason;
};

/// Finds the template of a tokenizer. The default one may be missing, because texts need no template.
///
/// Errors: those of find_chat_template() for any other choice
OptionalTemplate find_optional_template(const std::string& tokenizer, const std::string& choice);

}  // namespace ziggurat::data
