/// Tokenizers of decks and of trained models.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "data/tokenizer/text_tokenizer.hpp"
#include "deck/load_options.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns the facts of a tokenizer; for LoadOptions::read_tokenizer.
/// Errors: those of data::open_tokenizer()
deck::TokenizerFacts read_tokenizer(const spec::Tokenizer& tokenizer);

/// Returns a function like read_tokenizer() that opens the same tokenizer only once.
///
/// Commands that choose the number of ranks load a deck several times.
std::function<deck::TokenizerFacts(const spec::Tokenizer&)> read_tokenizer_once();

/// Returns the tokenizer of a trained model, with the path that the command line gives.
///
/// The file may have moved since the training, and a run on token files may have no tokenizer. If the run has
/// one, the hash must match; this is checked when the tokenizer is opened.
///
/// \param named  a path, or `bytes`; empty: the tokenizer of the run
/// Errors: Error{deck} if `bytes` is given for a run whose tokenizer is a file
spec::Tokenizer tokenizer_of(const spec::Tokenizer& of_run, const std::string& named);

/// Returns the value of --add-bos, or `of_run` if it is not given.
spec::AddBos add_bos_of(const std::string& named, spec::AddBos of_run);

/// Prints notes about a tokenizer on standard error: how it was read, and which token begins a text.
///
/// Errors: those of data::added_begin_token()
void print_tokenizer_notes(const data::TextTokenizer& tokenizer, spec::AddBos add_bos);

/// Opens the tokenizer with which a trained model reads and writes text.
///
/// \param named       as for tokenizer_of()
/// \param checkpoint  path of the checkpoint, for messages
/// Errors: those of data::open_tokenizer(); Error{deck} if no tokenizer exists, or the model reads bytes
std::unique_ptr<const data::TextTokenizer> open_tokenizer_of(const spec::RunSpec& run,
                                                             const std::string& named,
                                                             const std::string& checkpoint);

}  // namespace ziggurat::app
