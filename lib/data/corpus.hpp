/// Corpus of a run: all its token sources.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch_source.hpp"
#include "data/fingerprint.hpp"
#include "data/token_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Opens what a deck names under `data` and deals it out for training and validation.
///
/// The last `held_out` share of each training source is never trained on: it is validated, after the
/// validation sources.
class Corpus {
  public:
    /// Text is encoded on the spot where the tokenizer is a file, which is for evaluations: a run that trains
    /// is refused such a deck.
    ///
    /// \param open  opens each other source
    /// \param rest  of the parts that are validated; where it is included, two tokens are enough
    /// Errors: Error{deck} that begins with the key of the source that is missing, foreign, too short for one
    ///         sequence, or does not know the documents that are to be told apart; those of `open` and of
    ///         open_tokenizer()
    Corpus(const spec::Data& data,
           std::int64_t vocab,
           std::uint64_t seed,
           const OpenSource& open = open_source,
           Rest rest = Rest::left_out);

    /// Reads up to `limit` tokens of each source's beginning and refuses those outside the vocabulary.
    /// Reading is what it costs, so one rank does it; tokens further on are checked as batches use them.
    ///
    /// Errors: Error{deck} that names token, file and position
    void check_tokens(std::int64_t limit = std::int64_t{1} << 30) const;

    /// The files that sources read, with the place of the source in the deck; live as long as this.
    std::vector<NamedFile> files() const;

    std::int64_t num_training_tokens() const { return num_tokens(training_); }
    std::int64_t num_validation_tokens() const { return num_tokens(validation_); }

    /// The order of training samples of a run that begins with the first.
    OrderRecord order() const;

    /// Samples without end, in the order that order() says or the one that a run goes on with.
    BatchSource training() const { return training(order()); }
    BatchSource training(const OrderRecord& order) const;

    /// Every window of the validation parts once, or `max_samples` of them, evenly spread (0: all); none if
    /// the deck has nothing to validate on.
    BatchSource validation(std::int64_t max_samples) const;

  private:
    static std::int64_t num_tokens(const std::vector<SourcePart>& parts);
    DocumentRule documents() const { return {data_.reset_at_document, data_.document_token}; }

    spec::Data data_;
    std::int64_t vocab_;
    std::uint64_t seed_;
    Rest rest_;
    std::vector<BatchSource::Named> sources_;  // training sources, then validation sources
    std::vector<SourcePart> training_;
    std::vector<SourcePart> validation_;
};

}  // namespace ziggurat::data
