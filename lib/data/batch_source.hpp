/// Source of batches: fills them with tokens in a given order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/batch.hpp"
#include "data/order/sample_order.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// Handling of document boundaries in sequences.
struct DocumentRule {
    bool is_reset = false;          ///< attention and positions restart at each document
    std::int64_t start_token = -1;  ///< begins a document in sources without an index; -1: no such token
};

/// Reads the samples of an order.
///
/// Has no position of its own, so a run resumes from its sample index alone.
///
/// Targets that a source does not count in the loss are masked.
///
/// With `is_reset`, documents begin at the positions of the source's index, or else at each start token. With
/// a document index, targets that are the first token of a document are masked: no context predicts them. A
/// start token is a normal target, because it ends the previous document. The rest of a document at the
/// beginning of a window counts as a separate document.
///
/// Pairs of answers of a window are listed in the batch, where their numbers begin at the source's
/// first_pair.
class BatchSource {
  public:
    /// A source and its path in the deck.
    struct Named {
        std::shared_ptr<const TokenSource> tokens;
        std::string key;
        std::string name = {};        ///< name of the source in losses
        std::int64_t first_pair = 0;  ///< number in a batch of the source's pair 0
    };

    /// \param vocab  size of the vocabulary: all tokens must be below it
    BatchSource(std::vector<Named> sources,
                std::unique_ptr<const SampleOrder> order,
                DocumentRule documents,
                std::int64_t vocab);

    std::int64_t num_samples() const { return order_->num_samples(); }

    std::size_t num_sources() const { return sources_.size(); }
    const std::string& name_of(std::size_t source) const { return sources_.at(source).name; }
    /// Returns the source of a sample, below num_sources(). Allocates no memory.
    std::size_t source_of(std::int64_t sample) const { return order_->window(sample).source; }

    /// True if some targets may be masked; the same on all ranks.
    bool has_masked_targets() const;

    /// Fills `batch` with samples first_sample, first_sample + 1, ...; allocates no memory.
    ///
    /// Rows beyond num_samples() are fully masked.
    ///
    /// Thread: not thread-safe
    /// Errors: Error{deck} at a token that is not in the vocabulary
    void fill(Batch& batch, std::int64_t first_sample) const;

  private:
    void fill_row(Batch& batch, std::int64_t row, std::int64_t sample) const;
    void mask_uncounted(Batch& batch, std::int64_t row, const Window& window) const;
    void cut_at_documents(Batch& batch, std::int64_t row, const Window& window) const;
    void append_pairs(Batch& batch, std::int64_t row, const Window& window) const;

    std::vector<Named> sources_;
    std::unique_ptr<const SampleOrder> order_;
    DocumentRule documents_;
    std::int64_t vocab_;
    mutable std::vector<AnswerPair> found_pairs_;  // of one row
};

}  // namespace ziggurat::data
