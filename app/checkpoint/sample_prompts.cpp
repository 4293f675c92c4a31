#include "app/checkpoint/sample_prompts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "app/checkpoint/trained_model.hpp"
#include "app/start/tokenizers.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"
#include "data/chat/answer_ends.hpp"

namespace ziggurat::app {
namespace {

/// Returns the name of the file of prompts in messages.
std::string name_of_file(const SampleOptions& options) {
    return options.prompts == "-" ? "standard input" : "'" + options.prompts + "'";
}

std::vector<data::PromptRecord> records_of(const SampleOptions& options) {
    if (options.prompts.empty()) {
        data::PromptRecord record;
        record.is_chat = options.is_chat;
        record.text = options.prompt;
        if (options.is_chat) {
            record.conversation = data::make_question(options.system, options.prompt);
        }
        return {std::move(record)};
    }
    const std::string path = options.prompts == "-" ? "/dev/stdin" : options.prompts;
    try {
        return data::read_prompt_records(path, name_of_file(options),
                                         {.is_chat = options.is_chat, .system = options.system});
    } catch (const Error& problem) {
        throw Error{problem.kind(), std::string{"--prompts: "} + problem.what()};
    }
}

/// Errors: Error{deck} if a token is outside of the model's vocabulary
void expect_rows_for(const train::TextPrompt& prompt, std::int64_t vocab) {
    if (const auto largest = std::ranges::max_element(prompt.tokens); *largest >= vocab) {
        throw Error{
            ErrorKind::deck,
            fmt::format("the prompt has token {}, but the model has {} tokens. Give the tokenizer that it "
                        "was trained with: --tokenizer PATH.",
                        *largest, vocab)};
    }
}

void print_length_note(const std::vector<train::TextPrompt>& prompts, std::int64_t seq) {
    const auto longer = std::ranges::count_if(
        prompts, [&](const train::TextPrompt& prompt) { return std::ssize(prompt.tokens) > seq; });
    if (longer > 0 && prompts.size() == 1) {
        print_note(
            fmt::format("the prompt has {} tokens, but the model reads at most {} (data.seq): it "
                        "continues from the last {}",
                        prompts.front().tokens.size(), seq, seq));
    } else if (longer > 0) {
        print_note(
            fmt::format("{} of {} prompts have more tokens than the model reads ({}, data.seq): it "
                        "continues from the last {} of each",
                        longer, prompts.size(), seq, seq));
    }
}

void print_field_note(const std::vector<data::PromptRecord>& records) {
    std::set<std::string> names;
    for (const auto& record : records) {
        names.insert(record.unused_fields.begin(), record.unused_fields.end());
    }
    if (!names.empty()) {
        print_note(printable(fmt::format("--prompts: fields without effect: {}", fmt::join(names, ", "))));
    }
}

}  // namespace

std::unique_ptr<data::ChatPrompts> chat_prompts_of(const SampleOptions& options,
                                                   const spec::RunSpec& run,
                                                   const data::TextTokenizer& tokenizer) {
    const auto path = tokenizer_of(run.data.tokenizer, options.tokenizer).path;
    const auto choice =
        options.chat_template.empty() ? data::chat_template_choice(run.data) : options.chat_template;
    return std::make_unique<data::ChatPrompts>(tokenizer, path, data::find_chat_template(path, choice),
                                               data::template_engine(),
                                               data::trained_turn_ends(run.data, tokenizer, run.run.dir));
}

train::TextPrompt encode_conversation(const std::string& text,
                                      const data::ChatPrompts& chat,
                                      const spec::RunSpec& run,
                                      const data::TextTokenizer& tokenizer) {
    auto prompt = train::encode_prompt(tokenizer, spec::AddBos::no, text);
    prompt.end_tokens = chat.end_tokens();
    expect_rows_for(prompt, run.model.vocab);
    return prompt;
}

SamplePrompts read_sample_prompts(const SampleOptions& options,
                                  const spec::RunSpec& run,
                                  const data::TextTokenizer& tokenizer) {
    SamplePrompts read{.records = records_of(options), .prompts = {}};
    const auto is_chat = [](const data::PromptRecord& record) { return record.is_chat; };
    std::unique_ptr<data::ChatPrompts> chat;
    if (std::ranges::any_of(read.records, is_chat)) {
        chat = chat_prompts_of(options, run, tokenizer);
    }
    for (const auto& record : read.records) {
        try {
            if (record.is_chat) {
                read.prompts.push_back(
                    encode_conversation(chat->render(record.conversation), *chat, run, tokenizer));
            } else {
                read.prompts.push_back(train::encode_prompt(tokenizer, run.data.add_bos, record.text));
                expect_rows_for(read.prompts.back(), run.model.vocab);
            }
        } catch (const Error& problem) {
            if (options.prompts.empty()) {
                throw;
            }
            throw Error{problem.kind(),
                        printable(fmt::format("--prompts: {}, line {}: {}", name_of_file(options),
                                              record.line, problem.what()))};
        }
    }
    const bool is_all_chat = std::ranges::all_of(read.records, is_chat);
    print_tokenizer_notes(tokenizer, is_all_chat ? spec::AddBos::no : run.data.add_bos);
    print_field_note(read.records);
    print_length_note(read.prompts, run.data.seq);
    return read;
}

std::vector<train::TextPrompt> shared_prompts(const comm::Context& world,
                                              std::vector<train::TextPrompt> prompts) {
    if (world.size() == 1) {
        return prompts;
    }
    auto sent = nlohmann::json::array();
    for (const auto& prompt : prompts) {
        sent.push_back({prompt.tokens, prompt.end_tokens});
    }
    std::string bytes;
    nlohmann::json::to_cbor(sent, bytes);
    prompts.clear();
    for (const auto& prompt : nlohmann::json::from_cbor(comm::broadcast(world, bytes))) {
        prompts.push_back({.tokens = prompt[0].get<std::vector<std::int32_t>>(),
                           .end_tokens = prompt[1].get<std::vector<std::int32_t>>()});
    }
    return prompts;
}

}  // namespace ziggurat::app
