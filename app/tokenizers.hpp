/// Tokenizers of decks and of trained models.
#pragma once

#include <memory>
#include <string>

#include "data/tokenizer/text_tokenizer.hpp"
#include "deck/load_options.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// For LoadOptions::read_tokenizer. Errors: those of data::open_tokenizer()
deck::TokenizerFacts read_tokenizer(const spec::Tokenizer& tokenizer);

/// The tokenizer of a trained model, whose file is the one that is named: it may have moved since, and a run
/// of token numbers alone may have none. One that the run knows has to be the same, which opening it looks
/// at.
///
/// \param named  a path, or `bytes`; empty: nothing is named
/// Errors: Error{deck} where bytes are named for a run whose tokenizer is a file
spec::Tokenizer tokenizer_of(const spec::Tokenizer& of_run, const std::string& named);

/// The choice of --add-bos, or `of_run` where the command line has none.
spec::AddBos add_bos_of(const std::string& named, spec::AddBos of_run);

/// Writes to standard error what the user has to know of a tokenizer by which texts are encoded: how it was
/// read, and which token begins a text.
///
/// Errors: those of data::added_begin_token()
void print_tokenizer_notes(const data::TextTokenizer& tokenizer, spec::AddBos add_bos);

/// The tokenizer by which a trained model reads and writes text.
///
/// \param named       as of tokenizer_of()
/// \param checkpoint  of the model, for messages
/// Errors: those of data::open_tokenizer(); Error{deck} where there is none, or the model reads bytes
std::unique_ptr<const data::TextTokenizer> open_tokenizer_of(const spec::RunSpec& run,
                                                             const std::string& named,
                                                             const std::string& checkpoint);

}  // namespace ziggurat::app
