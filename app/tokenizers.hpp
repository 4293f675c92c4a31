/// Tokenizers of decks and of trained models.
#pragma once

#include <string>

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
spec::Tokenizer tokenizer_of(const spec::Tokenizer& of_run, const std::string& named);

}  // namespace ziggurat::app
