#include "app/checkpoint/sample_chat.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <utility>

#include "app/checkpoint/sample_prompts.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"
#include "data/chat/record_messages.hpp"

namespace ziggurat::app {
namespace {

void print(const std::string& text) {
    std::fputs(text.c_str(), stdout);
    std::fflush(stdout);
}

void print_error(const std::string& text) {
    std::fputs((message(Severity::error, text) + "\n").c_str(), stderr);
}

/// Returns the text as JSON keeps it: bytes that are not UTF-8 become U+FFFD.
std::string as_utf8(const std::string& text) {
    const auto json = data::ChatJson(text).dump(-1, ' ', false, data::ChatJson::error_handler_t::replace);
    return data::ChatJson::parse(json).get<std::string>();
}

bool is_blank(const std::string& line) {
    return line.find_first_not_of(" \t\r") == std::string::npos;
}

/// Returns true for a slash and letters, with nothing else on the line.
bool is_command(const std::string& line) {
    return line.size() > 1 && line[0] == '/' &&
           std::all_of(line.begin() + 1, line.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

SampleChat::SampleChat(const SampleOptions& options,
                       const spec::RunSpec& run,
                       const data::TextTokenizer& tokenizer,
                       data::ChatPrompts& prompts)
    : options_{options},
      run_{run},
      tokenizer_{tokenizer},
      prompts_{prompts},
      is_terminal_{::isatty(STDIN_FILENO) == 1} {
    reset();
}

void SampleChat::reset() {
    conversation_ = data::make_conversation();
    if (!options_.system.empty()) {
        conversation_.messages.push_back(data::make_message("system", options_.system));
    }
}

std::optional<std::string> SampleChat::read_line() const {
    if (is_terminal_) {
        print("> ");
    }
    std::string line;
    if (!std::getline(std::cin, line)) {
        if (is_terminal_) {
            print("\n");
        }
        return std::nullopt;
    }
    if (line.ends_with('\r')) {
        line.pop_back();
    }
    return line;
}

bool SampleChat::obey(const std::string& line) {
    if (line == "/reset") {
        reset();
        print_note("a new conversation begins");
    } else if (line == "/quit") {
        has_ended_ = true;
    } else if (is_command(line)) {
        print_error(
            fmt::format("unknown command '{}'. Write /reset for a new conversation, or /quit.", line));
    } else {
        return false;
    }
    return true;
}

std::optional<train::TextPrompt> SampleChat::ask(const std::string& turn) {
    const auto before = conversation_.messages;
    try {
        const auto question = data::make_question("", turn);
        conversation_.messages.push_back(question.messages.back());
        auto prompt = encode_conversation(prompts_.render(conversation_), prompts_, run_, tokenizer_);
        if (std::cmp_greater(prompt.tokens.size(), run_.data.seq)) {
            throw Error{
                ErrorKind::deck,
                fmt::format("this message is left out (with it the conversation has {} tokens, and the "
                            "model reads at most {}, data.seq). Write a shorter one, or /reset for a new "
                            "conversation.",
                            prompt.tokens.size(), run_.data.seq)};
        }
        return prompt;
    } catch (const Error& problem) {
        conversation_.messages = before;
        print_error(problem.what());
        return std::nullopt;
    }
}

std::optional<train::TextPrompt> SampleChat::next() {
    while (!has_ended_) {
        const auto line = read_line();
        if (!line) {
            has_ended_ = true;
        } else if (!is_blank(*line) && !obey(*line)) {
            if (auto prompt = ask(*line)) {
                shown_.clear();
                return prompt;
            }
        }
    }
    return std::nullopt;
}

void SampleChat::show(const train::GrowingText& text) {
    const auto stable = text.stable_text();
    print(printable(stable.substr(std::min(shown_.size(), stable.size())), Newlines::kept));
    shown_ = stable;
}

void SampleChat::end_answer(const train::GeneratedText& made) {
    print("\n");
    has_answered_ = true;
    conversation_.messages.push_back(data::make_message("assistant", as_utf8(made.text)));
    if (made.end == train::TextEnd::length && made.tokens == options_.tokens) {
        print_note(fmt::format("the answer ends after {} tokens. For longer answers, give --tokens N.",
                               made.tokens));
    } else if (made.end == train::TextEnd::length) {
        print_note(
            fmt::format("the answer ends here (the conversation has reached the {} tokens that the model "
                        "reads, data.seq). Write /reset for a new conversation.",
                        run_.data.seq));
    }
}

int hold_conversation(const comm::Context& world, SampleChat* chat, train::TextGenerator& generator) {
    if (chat != nullptr) {
        print_note("write a message on each line; /reset starts a new conversation, /quit or Ctrl-D ends");
    }
    for (;;) {
        std::vector<train::TextPrompt> next;
        if (chat != nullptr) {
            if (auto prompt = chat->next()) {
                next.push_back(std::move(*prompt));
            }
        }
        next = shared_prompts(world, std::move(next));
        if (next.empty()) {
            break;
        }
        const auto made = generator.answer(next.front(), [&](const train::GrowingText& text) {
            if (chat != nullptr) {
                chat->show(text);
            }
        });
        if (chat != nullptr) {
            chat->end_answer(made);
        }
    }
    if (chat != nullptr && !chat->had_input()) {
        print_error(
            "no prompt is given (standard input is empty). Give --prompt 'a few words' or --prompts FILE, or "
            "start it in a terminal.");
    }
    std::array<std::int64_t, 1> code{
        chat == nullptr || chat->had_input() ? 0 : static_cast<std::int64_t>(ErrorKind::deck)};
    comm::all_reduce_max(world, code);
    return static_cast<int>(code[0]);
}

}  // namespace ziggurat::app
