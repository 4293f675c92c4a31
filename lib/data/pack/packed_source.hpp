/// Samples of conversations, arranged in sequences with padding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/chat/chat_source.hpp"
#include "data/pack/packing.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// A stream in which sequence s has the tokens [s * seq, (s + 1) * seq): its samples, then padding.
///
/// Each sample and each padding is a document. Padding has the id 0 and never counts in the loss. After the
/// last sequence comes one more padding token, the target of its last token. The samples that are held out
/// are the last ones; they are packed separately.
class PackedSource final : public TokenSource {
  public:
    /// \param data  seq, packing (none or best_fit), long_samples, held_out
    /// \param key   deck key of the source; messages begin with it
    /// Errors: Error{deck} that names a sample that is too long and refused, or if no sample is left
    PackedSource(std::shared_ptr<const ChatSource> samples,
                 const spec::Data& data,
                 double held_out,
                 const std::string& key);

    std::int64_t num_tokens() const override { return num_sequences() * seq_ + 1; }
    void read(std::int64_t begin, std::span<std::int32_t> out) const override;
    bool has_document_index() const override { return true; }
    void mark_document_starts(std::int64_t begin, std::span<std::uint8_t> starts) const override;
    bool has_loss_mask() const override { return true; }
    void mark_counted(std::int64_t begin, std::span<std::uint8_t> counts) const override;
    std::optional<SequenceLayout> sequences() const override { return layout_; }
    std::string location_of(std::int64_t token) const override;
    std::vector<SourceFile> files() const override { return source_->files(); }

  private:
    std::int64_t num_sequences() const { return layout_.num_trained + layout_.num_held_out; }
    /// Returns the number of tokens of a sample that are used.
    std::int64_t length_of(std::int64_t sample) const;
    /// Returns the samples of a sequence, as numbers in the source.
    std::span<const std::int64_t> samples_of(std::int64_t sequence) const;
    /// Calls `visit(token, position, length, begins)` for each part of a range.
    ///
    /// \param visit  its arguments: the part's first token in the source (-1: padding), its position in the
    ///               range, its length, and true if it is the beginning of a document
    template <class Visitor>
    void for_each_part(std::int64_t begin, std::int64_t length, const Visitor& visit) const;
    void expect_no_long_sample(const std::string& key) const;

    std::shared_ptr<const ChatSource> source_;
    std::int64_t seq_;
    PackedSamples trained_, held_out_;
    SequenceLayout layout_;
};

}  // namespace ziggurat::data
