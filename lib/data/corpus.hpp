/// Corpus of a run: all its token sources.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch_source.hpp"
#include "data/fingerprint.hpp"
#include "data/token_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Opens the sources of `data` in a deck and divides them into training and validation.
///
/// The last `held_out` share of each training source is never trained on. It is validated after the
/// validation sources.
///
/// Pairs of answers are numbered over all sources: first those of training sources, then those of validation
/// sources.
class Corpus {
  public:
    /// Opens all sources. If the tokenizer is a file, text is encoded here.
    ///
    /// Encoding is for evaluations; decks that train on such text are rejected.
    ///
    /// \param open  opens all other sources
    /// \param rest  of the validated parts; if it is included, two tokens are enough
    /// \param run_folder  gets samples of conversations if the folder of their records cannot be written
    /// Errors: Error{deck} that begins with the source's key if the source is missing, has a wrong format, is
    ///         too short for one sequence, has no document positions although documents must be separated,
    ///         or has no pairs of answers although data.has_pairs, or the reverse; errors of `open` and of
    ///         open_tokenizer(); Stopped
    Corpus(const spec::Data& data,
           std::int64_t vocab,
           std::uint64_t seed,
           const OpenSource& open = open_source,
           Rest rest = Rest::left_out,
           const StopCheck& stop = {},
           const std::string& run_folder = {});

    /// Number of tokens of each source that check_tokens() reads by default.
    static constexpr std::int64_t checked_tokens = std::int64_t{1} << 30;

    /// Reads up to `limit` tokens from the start of each source and rejects those outside the vocabulary.
    ///
    /// The cost is that of reading, so only one rank calls it. Later tokens are checked when batches use
    /// them.
    ///
    /// Errors: Error{deck} that names token, file and position; Stopped
    void check_tokens(std::int64_t limit = checked_tokens, const StopCheck& stop = {}) const;

    /// Returns the files of all sources with their deck keys. They live as long as this object.
    std::vector<NamedFile> files() const;

    std::int64_t num_training_tokens() const { return num_tokens(training_); }
    std::int64_t num_validation_tokens() const { return num_tokens(validation_); }

    /// Returns the number of pairs of answers of all sources; 0 if samples are not pairs.
    std::int64_t num_pairs() const;

    /// Returns the order of training samples of a new run with `global_batch` samples per step.
    ///
    /// The order depends on that number only if weights change.
    DataOrderState order(std::int64_t global_batch) const;

    /// Returns an unbounded source of samples, in the order of a run, or of order(1).
    BatchSource training() const { return training(order(1)); }
    BatchSource training(const DataOrderState& order) const;

    /// Returns every window of the validation parts once, or `max_samples` evenly spaced ones (0: all).
    ///
    /// Empty if the deck has no validation data.
    BatchSource validation(std::int64_t max_samples) const;

    /// Returns the windows of training samples [first, last) of an order and of validation().
    ///
    /// Each window is listed once, and the list is sorted.
    std::vector<Window> windows(const DataOrderState& order,
                                std::int64_t first,
                                std::int64_t last,
                                std::int64_t max_validation_samples) const;
    /// Returns the samples of these windows, in their order.
    BatchSource of_windows(std::vector<Window> windows) const;
    /// Returns the numbers of the pairs of answers in a window, as in Batch::pair_numbers.
    std::vector<std::int64_t> pairs_of(const Window& window) const;

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
