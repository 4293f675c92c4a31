#include <fmt/format.h>

#include <array>

#include "deck/files/token_file.hpp"
#include "deck/rules/rules.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::array lists = {"data.train", "data.validation"};

const std::vector<spec::Source>& sources_of(const spec::Data& data, std::string_view list) {
    return list == "data.train" ? data.train : data.validation;
}

/// Calls `visit(path, source)` for each source whose keys are all good.
template <class Visitor>
void for_each_source(const Resolution& at, Visitor visit) {
    for (const char* list : lists) {
        const auto& sources = sources_of(at.run.data, list);
        for (std::size_t i = 0; i < sources.size(); ++i) {
            const std::string path = fmt::format("{}[{}]", list, i);
            if (!at.values.is_bad(path + ".format") && !at.values.is_bad(path + ".path") &&
                !at.values.is_bad(path)) {
                visit(path, sources[i]);
            }
        }
    }
}

/// Complains when a part of a source has no window: a sequence and its last target.
void expect_a_window(const Resolution& at, const std::string& path, std::int64_t tokens, const char* use) {
    const std::int64_t needed = at.run.data.seq + 1;
    if (tokens < needed && !at.values.is_bad("data.seq")) {
        at.found.error(at.values.location(path + ".path"),
                       fmt::format("{} has {} tokens for {}", path, tokens, use),
                       fmt::format("a sequence of {} and its last target are {}", at.run.data.seq, needed),
                       "Use more data, a shorter data.seq or another data.held_out.");
    }
}

/// Tokens that no file has.
void judge_own(const Resolution& at, const std::string& path) {
    if (at.options.brings_tokens) {
        return;
    }
    const auto location = at.values.location(path + ".format");
    if (at.options.needs_data) {
        at.found.error(location, "there is nobody who brings tokens of the format own",
                       "they are those of a program that calls the library",
                       "Start that program, or name files: text, llmc or megatron.");
    } else {
        at.found.note(location, "tokens of the format own are not looked at",
                      "a program that calls the library brings them");
    }
}

void sources_are_what_they_are_called(const Resolution& at) {
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        if (source.format == spec::TokenFormat::own) {
            judge_own(at, path);
            return;
        }
        const TokenFileFacts file = inspect(source);
        const SourceLocation location = at.values.location(path + ".path");
        if (file.is_missing && !at.options.needs_data) {
            at.found.note(location, fmt::format("{} is not here", in_quotes(source.path)),
                          *file.trouble + "; a plan does without, a training does not");
            return;
        }
        if (file.trouble) {
            at.found.error(
                location,
                fmt::format("cannot use {} as {}", in_quotes(source.path), at.values.word(path + ".format")),
                *file.trouble, file.advice.empty() ? "Check the path and the format." : file.advice);
            return;
        }
        if (path.starts_with(lists[1])) {
            expect_a_window(at, path, file.tokens, "validation");
            return;
        }
        const auto held_out =
            static_cast<std::int64_t>(at.run.data.held_out * static_cast<double>(file.tokens));
        expect_a_window(at, path, file.tokens - held_out, "training");
        if (at.run.data.held_out > 0) {
            expect_a_window(at, path, held_out, "validation by data.held_out");
        }
    });
}

void tokenizers_match_formats(const Resolution& at) {
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        const bool is_text = source.format == spec::TokenFormat::text;
        const auto& tokenizer = at.run.data.tokenizer;
        if (source.format == spec::TokenFormat::own ||
            is_text == (tokenizer.kind == spec::TokenizerKind::bytes)) {
            return;
        }
        const auto location = at.values.location(path + ".format");
        if (!is_text) {
            at.found.error(
                location, "token numbers with the bytes tokenizer",
                "this format holds token numbers, not text",
                "Use tokenizer: {kind: hf, path: PATH} with the tokenizer that they are of, or none.");
        } else if (tokenizer.has_file()) {
            at.found.error(
                location, "text that is no tokens yet", "only bytes become tokens while a run reads them",
                fmt::format("Run 'ziggurat tokenize {} --tokenizer {} --out NAME --format llmc' once, "
                            "and train on {{format: llmc, path: NAME.bin}}.",
                            source.path, tokenizer.path));
        } else {
            at.found.error(location, "text without a tokenizer", "data.tokenizer is none",
                           "Use tokenizer: bytes.");
        }
    });
}

void documents_can_be_told_apart(const Resolution& at) {
    if (!at.run.data.reset_at_document || at.run.data.document_token >= 0) {
        return;
    }
    bool is_complained = false;
    for_each_source(at, [&](const std::string&, const spec::Source& source) {
        const bool may_know = source.format == spec::TokenFormat::megatron ||
                              source.format == spec::TokenFormat::own;  // data::Corpus asks it
        if (!may_know && !is_complained) {
            at.found.error(at.values.location("data.reset_at_document"), "documents cannot be told apart",
                           "only megatron files say where they begin", "Set data.document_token.");
            is_complained = true;
        }
    });
}

constexpr std::array rules = {
    Rule{sources_are_what_they_are_called, "data.held_out"},
    Rule{tokenizers_match_formats, "data.tokenizer"},
    Rule{documents_can_be_told_apart, "data.reset_at_document data.document_token"},
};

}  // namespace

std::span<const Rule> data_rules() {
    return rules;
}

}  // namespace ziggurat::deck
