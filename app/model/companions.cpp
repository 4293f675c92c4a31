#include "app/model/companions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "app/checkpoint/trained_model.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "checkpoint/hf/companion_files.hpp"
#include "checkpoint/hf/model_files.hpp"
#include "checkpoint/hf/usage_files.hpp"
#include "data/chat/answer_ends.hpp"
#include "data/chat/chat_template.hpp"
#include "data/chat/template_engine.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::app {
namespace {

namespace hf = checkpoint::hf;

/// Opens the tokenizer at `path`.
/// Errors: Error{deck} if it is not the tokenizer of the run
std::unique_ptr<const data::TextTokenizer> open_at(spec::Tokenizer tokenizer, const std::string& path) {
    tokenizer.path = path;
    return data::open_tokenizer(tokenizer);
}

/// Returns the companions of a tokenizer that the run has not taken from a published model.
///
/// Its folder may belong to a model of another class, with other default tokens.
Companions companions_of(const std::string& path, std::shared_ptr<const data::TextTokenizer> tokenizer) {
    namespace fs = std::filesystem;
    std::error_code error;
    Companions found{.folder = path, .file = {}, .usage = {}, .tokenizer = std::move(tokenizer)};
    if (!fs::is_directory(path, error)) {
        const auto file = fs::path{path}.filename().string();
        const bool has_own_name = file == "tokenizer.json" || file == "tokenizer.model";
        found.folder = has_own_name ? fs::path{path}.parent_path().string() : "";
        found.folder = has_own_name && found.folder.empty() ? "." : found.folder;
        found.file = has_own_name ? "" : path;  // other files of the folder may be unrelated
    }
    const auto keys = found.folder.empty() ? std::nullopt : hf::usage_keys(found.folder);
    found.usage = keys ? hf::with_all_special_tokens(*keys)
                       : hf::usage_keys_of(found.tokenizer->document_token().value_or(-1));
    return found;
}

std::optional<hf::TokenText> text_of(const data::TextTokenizer& tokenizer,
                                     std::optional<std::int32_t> token) {
    std::string text;
    if (token) {
        tokenizer.decode(std::span{&*token, 1}, text);
    }
    return text.empty() ? std::nullopt : std::optional{hf::TokenText{*token, text}};
}

/// Returns the first source of conversations of the training data; null if it does not exist.
const spec::Source* first_chat(const spec::Data& data) {
    const auto found = std::ranges::find(data.train, spec::TokenFormat::chat, &spec::Source::format);
    return found == data.train.end() ? nullptr : &*found;
}

/// Returns the tokens that end turns of the run's conversations. Prints a note if they are unknown.
std::vector<std::int32_t> turn_ends_of(const spec::RunSpec& run,
                                       const data::TextTokenizer& tokenizer,
                                       const data::OptionalTemplate& found) {
    try {
        auto ends = data::trained_turn_ends(run.data, tokenizer, run.run.dir);
        if (ends.empty() && found.chat) {
            ends = data::turn_ends_by(*found.chat, tokenizer, data::template_engine());
        }
        return ends;
    } catch (const Error& error) {
        print_note(fmt::format(
            "the token that ends an answer of the model is unknown ({}). If generation does not stop "
            "there, add it to eos_token_id in generation_config.json.",
            error.what()));
        return {};
    }
}

/// Writes the run's template, if the exported model would have another one.
void export_template(const data::ChatTemplate& chat, const std::string& folder) {
    const auto exported = data::find_optional_template(folder, "");
    if (exported.chat && exported.chat->text == chat.text) {
        return;
    }
    hf::write_text(folder + "/chat_template.jinja", chat.text);
    print_note(fmt::format("chat_template.jinja of the model is the template of its training, '{}'",
                           printable(chat.path)));
}

void print_added(const hf::AddedEnds& added) {
    if (added.ends.empty()) {
        return;
    }
    std::vector<std::string> names;
    for (const auto& end : added.ends) {
        names.push_back(fmt::format("'{}' ({})", printable(end.text), end.id));
    }
    auto note = fmt::format(
        "the conversations of the training end turns with {}, which generation_config.json now has in "
        "eos_token_id",
        fmt::join(names, ", "));
    if (!added.eos_token.empty()) {
        note += fmt::format("; eos_token of the tokenizer is '{}' instead of '{}'",
                            printable(added.eos_token), printable(added.eos_token_before));
    }
    print_note(note);
}

/// Makes generation end where the turns of the run's conversations end.
void adapt_to_chats(const Companions& companions, const spec::RunSpec& run, const std::string& folder) {
    const auto* source = first_chat(run.data);
    if (source == nullptr || !companions.tokenizer) {
        return;
    }
    const auto path = companions.folder.empty() ? companions.file : companions.folder;
    const auto found = data::find_optional_template(path, source->chat_template);
    if (found.chat) {
        export_template(*found.chat, folder);
    }
    std::vector<hf::TokenText> ends;
    for (const auto token : turn_ends_of(run, *companions.tokenizer, found)) {
        if (const auto text = text_of(*companions.tokenizer, token)) {
            ends.push_back(*text);
        }
    }
    const bool prints_eos_token = found.chat && found.chat->text.find("eos_token") != std::string::npos;
    print_added(hf::add_answer_ends(folder, companions.usage, ends, prints_eos_token));
}

}  // namespace

Companions find_companions(const spec::Tokenizer& tokenizer, const std::string& kept) {
    const auto kept_keys = hf::usage_keys(kept);
    if (kept_keys) {
        const bool is_any = !tokenizer.has_file();  // the run read token ids
        Companions found{.folder = kept, .file = {}, .usage = *kept_keys, .tokenizer = nullptr};
        try {
            found.tokenizer = is_any ? data::open_tokenizer(kept) : open_at(tokenizer, kept);
            return found;
        } catch (const Error&) {
            if (is_any) {
                return found;
            }
        }  // otherwise the run has another tokenizer than the published model
    }
    if (tokenizer.has_file()) {
        try {
            return companions_of(tokenizer.path, open_at(tokenizer, tokenizer.path));
        } catch (const Error& error) {
            print_note(fmt::format("the model is exported without its tokenizer ({})", error.what()));
        }
    }
    return {.folder = {}, .file = {}, .usage = hf::usage_keys_of(-1), .tokenizer = nullptr};
}

std::string copy_companions(const Companions& companions,
                            const spec::RunSpec& run,
                            const std::string& folder) {
    std::vector<std::string> names;
    if (!companions.folder.empty()) {
        names = hf::copy_companions(companions.folder, folder);
    } else if (!companions.file.empty()) {
        names.emplace_back(run.data.tokenizer.kind == spec::TokenizerKind::hf ? "tokenizer.json"
                                                                              : "tokenizer.model");
        hf::copy_tokenizer(companions.file, folder + "/" + names.front());
    }
    if (companions.tokenizer) {
        const auto& tokenizer = *companions.tokenizer;
        hf::write_tokenizer_config(folder, text_of(tokenizer, tokenizer.document_token()),
                                   text_of(tokenizer, tokenizer.begin_token()));
        adapt_to_chats(companions, run, folder);
    }
    return names.empty() ? "" : fmt::format("; {}", fmt::join(names, ", "));
}

}  // namespace ziggurat::app
