#include "app/tokenizers.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/printable.hpp"
#include "data/tokenizer/text_tokenizer.hpp"

namespace ziggurat::app {

deck::TokenizerFacts read_tokenizer(const spec::Tokenizer& tokenizer) {
    const auto opened = data::open_tokenizer(tokenizer);
    return {opened->vocab_size(), data::hash_text(*opened)};
}

spec::Tokenizer tokenizer_of(const spec::Tokenizer& of_run, const std::string& named) {
    if (named.empty()) {
        return of_run;
    }
    if (named == "bytes") {
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
        throw Error{
            ErrorKind::deck,
            fmt::format("nothing says how text becomes tokens ('{}' was trained on token numbers). Name "
                        "the tokenizer that made them: --tokenizer PATH.",
                        printable(checkpoint))};
    }
    return tokenizer;
}

}  // namespace ziggurat::app
