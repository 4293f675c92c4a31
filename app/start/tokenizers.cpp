#include "app/start/tokenizers.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::app {

namespace {

void print_note(const std::string& text) {
    std::fputs((message(Severity::note, text) + "\n").c_str(), stderr);
}

}  // namespace

spec::AddBos add_bos_of(const std::string& named, spec::AddBos of_run) {
    return named.empty()     ? of_run
           : named == "true" ? spec::AddBos::yes
           : named == "auto" ? spec::AddBos::as_tokenizer_says
                             : spec::AddBos::no;
}

void print_tokenizer_notes(const data::TextTokenizer& tokenizer, spec::AddBos add_bos) {
    if (const auto note = tokenizer.note(); !note.empty()) {
        print_note(note);
    }
    if (const auto begin = data::added_begin_token(tokenizer, add_bos)) {
        std::string text;
        tokenizer.decode(std::span{&*begin, 1}, text);
        print_note(fmt::format("each text begins with token {}{}{} ({}). --add-bos false turns it off",
                               *begin, text.empty() ? "" : " ", printable(text),
                               add_bos == spec::AddBos::yes ? "data.add_bos" : "from the tokenizer's files"));
    }
}

deck::TokenizerFacts read_tokenizer(const spec::Tokenizer& tokenizer) {
    const auto opened = data::open_tokenizer(tokenizer);
    return {.vocab = opened->vocab_size(),
            .hash = data::hash_text(*opened),
            .document_token = opened->document_token(),
            .begin_token = opened->begin_token(),
            .adds_begin_token = opened->adds_begin_token(),
            .note = opened->note()};
}

std::function<deck::TokenizerFacts(const spec::Tokenizer&)> read_tokenizer_once() {
    using Known = std::pair<spec::Tokenizer, deck::TokenizerFacts>;
    return [last = std::make_shared<std::optional<Known>>()](const spec::Tokenizer& tokenizer) {
        if (!*last || (*last)->first != tokenizer) {
            *last = Known{tokenizer, read_tokenizer(tokenizer)};
        }
        return (*last)->second;
    };
}

spec::Tokenizer tokenizer_of(const spec::Tokenizer& of_run, const std::string& named) {
    if (named.empty()) {
        return of_run;
    }
    if (named == "bytes") {
        if (of_run.has_file()) {
            throw Error{
                ErrorKind::deck,
                fmt::format("--tokenizer bytes does not fit the model (its tokens are those of '{}'). Leave "
                            "it out, or write ./bytes for a file or folder of that name.",
                            printable(of_run.path))};
        }
        return {};
    }
    return {
        .kind = data::is_sentencepiece(named) ? spec::TokenizerKind::sentencepiece : spec::TokenizerKind::hf,
        .path = named,
        .hash = of_run.hash};
}

std::unique_ptr<const data::TextTokenizer> open_tokenizer_of(const spec::RunSpec& run,
                                                             const std::string& named,
                                                             const std::string& checkpoint) {
    if (!named.empty() && named != "bytes" && run.data.tokenizer.kind == spec::TokenizerKind::bytes) {
        throw Error{
            ErrorKind::deck,
            fmt::format("--tokenizer {} does not fit the model (it reads bytes of text). Leave it out.",
                        printable(named))};
    }
    auto tokenizer = data::open_tokenizer(tokenizer_of(run.data.tokenizer, named));
    if (!tokenizer) {
        throw Error{ErrorKind::deck,
                    fmt::format("the run has no tokenizer ('{}' was trained on token numbers). Give "
                                "the tokenizer that made them: --tokenizer PATH.",
                                printable(checkpoint))};
    }
    return tokenizer;
}

}  // namespace ziggurat::app
