/// Samples of conversations or of answers, arranged in sequences with padding.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/pack/packing.hpp"
#include "data/samples/chat_source.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// A stream in which sequence s has the tokens [s * seq, (s + 1) * seq): its items, then padding.
///
/// An item is a sample or, if samples are answers, a pair of them. A pair of more than seq tokens is cut so
/// that an answer of up to seq / 2 tokens stays whole and the other one gets the rest; if both are longer,
/// each gets seq / 2. Pairs in which an answer has no counted token left are dropped.
///
/// Each sample and each padding is a document. Padding has the id 0 and never counts in the loss. After the
/// last sequence comes one more padding token, the target of its last token. The items that are held out
/// are the last ones; they are packed separately.
class PackedSource final : public TokenSource {
  public:
    /// \param data  seq, packing (none or best_fit), long_samples, held_out
    /// \param key   deck key of the source; messages begin with it
    /// Errors: Error{deck} that names a sample that is too long and refused, or an answer without a counted
    ///         token, or if no item is left
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
    std::int64_t num_pairs() const override { return source_->num_pairs(); }
    std::size_t find_pairs(std::int64_t begin,
                           std::int64_t length,
                           std::span<AnswerPair> pairs) const override;
    std::string location_of(std::int64_t token) const override;
    std::vector<SourceFile> files() const override { return source_->files(); }

    /// Tokens of all sequences that count in the loss.
    struct Counted {
        std::int64_t trained = 0, held_out = 0;
    };
    /// Counts them. The cost is that of reading all samples.
    ///
    /// Errors: Stopped
    Counted count_counted(const StopCheck& stop) const;

  private:
    std::int64_t num_sequences() const { return layout_.num_trained + layout_.num_held_out; }
    std::int64_t num_items() const { return source_->num_samples() / samples_per_item_; }
    /// Returns the number of tokens of an item in the source.
    std::int64_t whole_length_of(std::int64_t item) const;
    /// Returns the number of tokens of a sample that are used.
    std::int64_t length_of(std::int64_t sample) const;
    /// Returns the number of tokens of an item that are used.
    std::int64_t item_length_of(std::int64_t item) const;
    /// Returns true if one of the used tokens of a sample counts in the loss.
    bool has_target(std::int64_t sample) const { return source_->has_counted(sample, length_of(sample)); }
    /// Returns true if both answers of a pair have a counted token.
    ///
    /// Errors: Error{deck} that names an answer without one that is not cut
    bool has_targets(std::int64_t pair, const std::string& key) const;
    /// Assigns the items [begin, end) to sequences, as numbers in the source.
    PackedSamples pack_items(std::int64_t begin,
                             std::int64_t end,
                             const spec::Data& data,
                             const std::string& key) const;
    /// Returns the items of a sequence, as numbers in the source.
    std::span<const std::int64_t> items_of(std::int64_t sequence) const;
    /// Calls `visit(token, position, length, begins)` for each part of a range.
    ///
    /// \param visit  its arguments: the part's first token in the source (-1: padding), its position in the
    ///               range, its length, and true if it is the beginning of a document
    template <class Visitor>
    void for_each_part(std::int64_t begin, std::int64_t length, const Visitor& visit) const;
    void expect_no_long_item(const std::string& key) const;

    std::shared_ptr<const ChatSource> source_;
    std::int64_t seq_;
    std::int64_t samples_per_item_;  // 2 for pairs
    PackedSamples trained_, held_out_;
    SequenceLayout layout_;
};

}  // namespace ziggurat::data
