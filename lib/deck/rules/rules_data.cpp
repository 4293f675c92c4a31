#include <fmt/format.h>

#include <array>

#include "deck/files/token_file.hpp"
#include "deck/rules/each_source.hpp"
#include "deck/rules/rules.hpp"
#include "spec/token_format.hpp"

namespace ziggurat::deck {
namespace {

void only_raw_files_have_a_dtype(const Resolution& at) {
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        if (source.format != spec::TokenFormat::raw && at.values.is_written(path + ".dtype")) {
            at.found.error(at.values.location(path + ".dtype"),
                           fmt::format("a dtype with the format {}", at.values.keyword(path + ".format")),
                           "only raw files do not contain the type of their token ids",
                           "Remove it, or use format: raw.");
        }
    });
}

void expect_tokenizer_of_chat(const Resolution& at, const std::string& path) {
    if (at.run.data.tokenizer.kind == spec::TokenizerKind::bytes) {
        at.found.error(at.values.location(path + ".format"), "conversations with the bytes tokenizer",
                       "bytes have no tokens that begin and end a turn",
                       "Use tokenizer: {kind: hf, path: PATH}.");
    }
}

void tokenizers_match_formats(const Resolution& at) {
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        const bool is_text = source.format == spec::TokenFormat::text;
        const auto& tokenizer = at.run.data.tokenizer;
        if (source.format == spec::TokenFormat::chat) {
            expect_tokenizer_of_chat(at, path);
            return;
        }
        if (source.format == spec::TokenFormat::own ||
            is_text == (tokenizer.kind == spec::TokenizerKind::bytes)) {
            return;
        }
        const auto location = at.values.location(path + ".format");
        if (!is_text) {
            at.found.error(
                location, "token ids with the bytes tokenizer", "this format holds token ids, not text",
                "Use tokenizer: {kind: hf, path: PATH} with the tokenizer that made them, or none.");
        } else if (tokenizer.has_file()) {
            at.found.error(
                location, "text that was not tokenized", "a run can tokenize text only as bytes",
                fmt::format("Run 'ziggurat tokenize {} --tokenizer {} --out NAME --format llmc' once, "
                            "and train on {{format: llmc, path: NAME.bin}}.",
                            source.path, tokenizer.path));
        } else {
            at.found.error(location, "text without a tokenizer", "data.tokenizer = none",
                           "Use tokenizer: bytes.");
        }
    });
}

void only_conversations_have_a_template(const Resolution& at) {
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        for (const char* key : {".template", ".loss_on"}) {
            if (source.format != spec::TokenFormat::chat && at.values.is_written(path + key)) {
                at.found.error(
                    at.values.location(path + key),
                    fmt::format("a {} with the format {}", key + 1, at.values.keyword(path + ".format")),
                    "only conversations have turns", "Remove it, or use format: chat.");
            }
        }
    });
}

void packing_fits_the_sources(const Resolution& at) {
    const auto& data = at.run.data;
    const bool has_chat = spec::has_conversations(data);
    if (data.packing != spec::SamplePacking::wrapped && !has_chat) {
        at.found.error(at.values.location("data.packing"),
                       fmt::format("data.packing is {} without a chat source", spec::word_of(data.packing)),
                       "other sources are always divided into full sequences",
                       "Remove it, or use format: chat.");
    }
    if (data.packing == spec::SamplePacking::best_fit && has_chat && !data.reset_at_document) {
        at.found.error(at.values.location("data.reset_at_document"),
                       "packed samples without data.reset_at_document",
                       "tokens would attend to other samples in their sequence",
                       "Remove it, or use data.packing: none or wrapped.");
    }
}

void documents_can_be_distinguished(const Resolution& at) {
    if (!at.run.data.reset_at_document || at.run.data.document_token >= 0) {
        return;
    }
    bool is_complained = false;
    for_each_source(at, [&](const std::string&, const spec::Source& source) {
        const bool may_know = source.format == spec::TokenFormat::megatron ||
                              source.format == spec::TokenFormat::chat ||
                              source.format == spec::TokenFormat::own;  // data::Corpus checks it
        if (!may_know && !is_complained) {
            at.found.error(at.values.location("data.reset_at_document"), "documents cannot be distinguished",
                           "only megatron and chat files mark documents", "Set data.document_token.");
            is_complained = true;
        }
    });
}

/// Warns if the tokenizer separates documents by another token than the deck's.
void document_token_is_the_tokenizers(const Resolution& at) {
    const auto token = at.run.data.document_token;
    if (token < 0 || !at.values.is_written("data.document_token") || !at.tokenizer) {
        return;
    }
    const auto theirs = at.tokenizer->document_token;
    if (theirs && *theirs != token) {
        at.found.warning(at.values.location("data.document_token"),
                         fmt::format("data.document_token is {}", token),
                         fmt::format("the tokenizer's is {}, which 'ziggurat tokenize' writes", *theirs),
                         "Use data.document_token: auto, unless the files have another one.");
    }
}

void document_token_is_in_the_sources(const Resolution& at) {
    const auto token = at.run.data.document_token;
    if (!at.run.data.reset_at_document || token < 0 || !at.options.has_token) {
        return;
    }
    for_each_source(at, [&](const std::string& path, const spec::Source& source) {
        const bool is_searched = source.format != spec::TokenFormat::own &&
                                 source.format != spec::TokenFormat::megatron &&
                                 source.format != spec::TokenFormat::chat && look_for(source).reason.empty();
        if (is_searched && !at.options.has_token(source, path + ".path", token)) {
            at.found.warning(
                at.values.location(path + ".path"),
                fmt::format("token {} was not found in {}", token, in_quotes(source.path)),
                "it is data.document_token, so data.reset_at_document has no effect there; the first "
                "67,108,864 tokens were searched",
                "Set data.document_token to the token that is between the documents.");
        }
    });
}

constexpr std::array rules = {
    Rule{only_raw_files_have_a_dtype, ""},
    Rule{tokenizers_match_formats, "data.tokenizer"},
    Rule{only_conversations_have_a_template, ""},
    Rule{packing_fits_the_sources, "data.packing data.reset_at_document"},
    Rule{documents_can_be_distinguished, "data.reset_at_document data.document_token"},
    Rule{document_token_is_the_tokenizers, "data.document_token data.tokenizer"},
    Rule{document_token_is_in_the_sources, "data.reset_at_document data.document_token"},
};

}  // namespace

std::span<const Rule> data_rules() {
    return rules;
}

}  // namespace ziggurat::deck
