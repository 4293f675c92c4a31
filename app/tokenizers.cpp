#include "app/tokenizers.hpp"

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

}  // namespace ziggurat::app
