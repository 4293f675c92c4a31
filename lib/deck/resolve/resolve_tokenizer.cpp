#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "deck/files/resumed_run.hpp"
#include "deck/resolve/resolve.hpp"
#include "deck/values/working_folder.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::int64_t num_bytes = 256;

spec::TokenizerKind kind_of(const std::string& keyword) {
    return keyword == "none"            ? spec::TokenizerKind::none
           : keyword == "hf"            ? spec::TokenizerKind::hf
           : keyword == "sentencepiece" ? spec::TokenizerKind::sentencepiece
                                        : spec::TokenizerKind::bytes;
}

/// Resolves the tokenizer's path. The folder of published weights usually contains their tokenizer.
void resolve_path(Resolution& resolution) {
    Values& values = resolution.values;
    if (!resolution.is_auto("data.tokenizer.path")) {
        return;
    }
    if (values.is_keyword("model.init.from", "hf") && values.has("model.init.path") &&
        !values.is_keyword("model.init.path", "none")) {
        const DeckValue folder = *values.find("model.init.path");
        values.set_resolved("data.tokenizer.path", folder.data, folder.written, "model.init.path",
                            folder.without_secrets);
        return;
    }
    values.erase("data.tokenizer.path");
    resolution.require("data.tokenizer.path", "this tokenizer is a file");
}

/// Returns `path`, or the run's copy of its model's tokenizer if `path` no longer exists.
std::string path_or_copy(const Resolution& resolution, const std::string& path) {
    const Values& values = resolution.values;
    const auto& run_folder = resolution.options.run_folder;
    const auto root = run_folder.empty() ? resolution.resumed_root : run_folder + "/ckpt";
    const bool is_random = values.is_keyword("model.init.from", "random");
    auto found =
        tokenizer_or_kept(path, is_random ? "" : path_from(values, values.text("model.init.path")), root);
    if (found != path) {
        resolution.found.note(values.location("data.tokenizer.path"),
                              fmt::format("{} no longer exists", in_quotes(path)),
                              fmt::format("the run uses its copy in {}", in_quotes(found)));
    }
    return found;
}

/// Reads the properties of the tokenizer's file; for a plan it may be missing.
void ask_file(Resolution& resolution, spec::Tokenizer& tokenizer) {
    Values& values = resolution.values;
    const auto location = values.location("data.tokenizer.path");
    std::error_code problem;
    if (!resolution.options.needs_data && !std::filesystem::exists(tokenizer.path, problem)) {
        resolution.found.note(location, fmt::format("{} is not here", in_quotes(tokenizer.path)),
                              "a plan does not need a tokenizer, but a training does");
        return;
    }
    try {
        const auto facts = resolution.options.read_tokenizer(tokenizer);
        resolution.tokenizer_vocab = facts.vocab;
        resolution.tokenizer = facts;
        if (!facts.note.empty()) {
            resolution.found.note(location, fmt::format("{} is read differently", in_quotes(tokenizer.path)),
                                  facts.note);
        }
        if (tokenizer.hash.empty()) {
            tokenizer.hash = facts.hash;
            values.set_resolved("data.tokenizer.hash", facts.hash, facts.hash, "of data.tokenizer.path");
        }
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::deck) {
            throw;
        }
        resolution.found.error(location,
                               fmt::format("cannot use {} as a tokenizer", in_quotes(tokenizer.path)),
                               error.what(), "Name another, or use kind: none.");
        values.mark_bad("data.tokenizer.path");
    }
}

}  // namespace

void resolve_tokenizer(Resolution& resolution) {
    Values& values = resolution.values;
    spec::Tokenizer& tokenizer = resolution.run.data.tokenizer;
    tokenizer.kind = kind_of(values.keyword("data.tokenizer.kind"));
    if (values.is_bad("data.tokenizer") || values.is_bad("data.tokenizer.kind")) {
        return;
    }
    if (!tokenizer.has_file()) {
        resolution.tokenizer_vocab = tokenizer.kind == spec::TokenizerKind::bytes ? num_bytes : 0;
        resolution.erase_default("data.tokenizer.path");
        resolution.erase_default("data.tokenizer.hash");
        return;
    }
    resolve_path(resolution);
    if (values.is_bad("data.tokenizer.path") || values.is_bad("data.tokenizer.hash")) {
        return;
    }
    tokenizer.path = path_or_copy(resolution, path_from(values, values.text("data.tokenizer.path")));
    tokenizer.hash = resolution.is_auto("data.tokenizer.hash") ? "" : values.text("data.tokenizer.hash");
    if (resolution.options.read_tokenizer && !resolution.options.as_record) {
        ask_file(resolution, tokenizer);
    }
}

}  // namespace ziggurat::deck
