/// Samples of conversations or of answers as one stream of tokens; each sample is a document.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/samples/sample_file.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// Sample files, concatenated.
///
/// The first token of a sample never counts in the loss, because no context predicts it.
class ChatSource final : public TokenSource {
  public:
    /// \param paths  sample files, at least one
    /// \param key    deck key of the source; messages begin with it
    /// Errors: Error{deck} if a file is not a sample file, if two files were made by different tokenizers, or
    ///         if one holds conversations and another one pairs of answers
    ChatSource(const std::vector<std::string>& paths, const std::string& key);
    ChatSource(std::vector<SampleFile> files, const std::string& key);

    std::int64_t num_tokens() const override { return files_.back().end; }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override;
    bool has_document_index() const override { return true; }
    void mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override;
    bool has_loss_mask() const override { return true; }
    void mark_counted(std::int64_t begin, std::span<std::uint8_t> counts) const override;
    std::int64_t num_pairs() const override { return has_pairs() ? num_samples() / 2 : 0; }
    std::string location_of(std::int64_t token) const override;
    std::vector<SourceFile> files() const override;

    /// Returns true if samples 2 i and 2 i + 1 are the chosen and the rejected answer of pair i.
    bool has_pairs() const { return files_.front().file.header().has_pairs(); }
    std::int64_t num_samples() const { return files_.back().samples_end; }
    /// Returns the first token of a sample; num_tokens() for sample num_samples().
    std::int64_t begin_of(std::int64_t sample) const;
    std::int64_t length_of(std::int64_t sample) const { return begin_of(sample + 1) - begin_of(sample); }
    /// Returns true if one of the first `length` tokens of a sample counts in the loss.
    bool has_counted(std::int64_t sample, std::int64_t length) const;
    /// Returns the number of these tokens that count in the loss.
    std::int64_t num_counted(std::int64_t sample, std::int64_t length) const;
    /// Returns the share of tokens that count in the loss.
    double counted_share() const;
    std::size_t num_files() const { return files_.size(); }
    const SampleFile& file(std::size_t index) const { return files_.at(index).file; }

  private:
    struct Part {
        SampleFile file;
        std::int64_t begin = 0, end = 0;                  ///< its tokens in the stream
        std::int64_t samples_begin = 0, samples_end = 0;  ///< its samples
    };

    /// Calls `visit(part, begin in the part, position in the range, length)` for each file of a range.
    template <class Visitor>
    void for_each_part(std::int64_t begin, std::int64_t length, const Visitor& visit) const;

    std::vector<Part> files_;
};

}  // namespace ziggurat::data
