/// Token source: the interface of token files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/stop_check.hpp"
#include "data/mapped_file.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// A file that a source reads. It lives as long as the source.
struct SourceFile {
    const MappedFile* file = nullptr;
    bool is_index = false;        ///< holds positions of documents, so each byte matters and all are hashed
    std::int64_t seal_bytes = 0;  ///< bytes at its end that are a hash of the others
};

/// Arrangement of a source's tokens in sequences, each of which begins at a multiple of its length.
struct SequenceLayout {
    std::int64_t seq = 0;          ///< tokens of a sequence
    std::int64_t num_trained = 0;  ///< the first sequences; the others are held out for validation
    std::int64_t num_held_out = 0;
    std::int64_t num_samples = 0;  ///< samples, or pairs of samples, in all sequences
    std::int64_t num_filled = 0;   ///< tokens of samples; the other tokens are padding
    std::int64_t num_cut = 0;      ///< samples or pairs whose end is missing, because they were too long
    std::int64_t num_dropped = 0;  ///< samples or pairs that were left out, because they were too long
    /// Samples whose used tokens all do not count in the loss, because they are cut.
    std::int64_t num_without_target = 0;
    std::int64_t num_without_flag = 0;      ///< samples that have no counted token even if they are whole
    std::int64_t num_held_out_samples = 0;  ///< of num_samples, those that are held out
    std::int64_t num_held_out_without_target = 0;  ///< of num_without_target, those that are held out

    /// Returns the share of tokens that are not padding.
    double fill() const {
        return static_cast<double>(num_filled) / static_cast<double>((num_trained + num_held_out) * seq);
    }
    bool operator==(const SequenceLayout&) const = default;
};

/// Tokens of a pair of answers. The rejected answer follows the chosen one directly.
struct AnswerPair {
    std::int64_t number = 0;    ///< below TokenSource::num_pairs()
    std::int64_t chosen = 0;    ///< first token of the chosen answer
    std::int64_t rejected = 0;  ///< first token of the rejected answer
    std::int64_t end = 0;       ///< token after its last one

    bool operator==(const AnswerPair&) const = default;
};

/// A stream of token ids with random access. Immutable, so several threads may read.
class TokenSource {
  public:
    virtual ~TokenSource() = default;

    /// Returns the number of tokens, > 0.
    virtual std::int64_t num_tokens() const = 0;

    /// Reads tokens [begin, begin + out.size()), which must be inside the source.
    ///
    /// Ids that int32 cannot hold are read as -1.
    virtual void read(std::int64_t begin, std::span<std::int32_t> out) const = 0;

    /// True if the source has positions of documents.
    virtual bool has_document_index() const { return false; }

    /// Sets starts[i] to 1 if token begin + i is the first of a document, else to 0.
    ///
    /// Needs a document index.
    virtual void mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const;

    /// True if not all tokens count in the loss.
    virtual bool has_loss_mask() const { return false; }

    /// Sets counts[i] to 1 if token begin + i counts in the loss when it is a target, else to 0.
    virtual void mark_counted(std::int64_t begin, std::span<std::uint8_t> counts) const;

    /// Returns the arrangement of the tokens in sequences; empty if a sequence may begin at any token.
    virtual std::optional<SequenceLayout> sequences() const { return std::nullopt; }

    /// Returns the number of pairs of answers; 0 if the samples of the source are not pairs.
    virtual std::int64_t num_pairs() const { return 0; }

    /// Writes the pairs whose tokens are all in [begin, begin + length), in order; returns their number.
    ///
    /// \param pairs  has room for length / spec::min_pair_tokens pairs
    virtual std::size_t find_pairs(std::int64_t begin,
                                   std::int64_t length,
                                   std::span<AnswerPair> pairs) const;

    /// Returns the file of one token and its position there, for messages.
    virtual std::string location_of(std::int64_t token) const = 0;

    /// Returns the files in the order of their tokens; empty if tokens are not read from files.
    virtual std::vector<SourceFile> files() const { return {}; }
};

/// Opens the files of `source`, whose format must not be own.
///
/// \param key  its deck key, such as "data.train[0].path"; messages begin with it
/// Errors: Error{deck} if a file is missing, unreadable, empty, or of a wrong format or size; the message
///         describes the file
std::unique_ptr<TokenSource> open_source(const spec::Source& source, const std::string& key);

/// Function that opens a source: open_source(), or the calling program's function for format own.
using OpenSource = std::function<std::unique_ptr<TokenSource>(const spec::Source&, const std::string& key)>;

/// The largest token id in [begin, end) and its first position; negative ids count as largest.
struct LargestToken {
    std::int32_t id = 0;
    std::int64_t position = 0;
};
LargestToken find_largest_token(const TokenSource& source,
                                std::int64_t begin,
                                std::int64_t end,
                                const StopCheck& stop = {});

/// Rejects tokens outside of the model's vocabulary.
///
/// Errors: Error{deck} that names the token, its file and position, and `vocab`; Stopped
void check_vocabulary(const TokenSource& source,
                      std::int64_t begin,
                      std::int64_t end,
                      std::int64_t vocab,
                      const std::string& key,
                      const StopCheck& stop = {});

}  // namespace ziggurat::data
