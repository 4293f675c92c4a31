/// Source of batches: fills them from tokens, in a given order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/batch.hpp"
#include "data/sample_order.hpp"
#include "data/token_source.hpp"

namespace ziggurat::data {

/// Cutting of sequences at documents.
struct DocumentRule {
    bool is_reset = false;          ///< attention and positions begin anew with each document
    std::int64_t start_token = -1;  ///< begins a document in sources without an index; -1: none does
};

/// Reads the samples of an order; keeps no position of its own, so a run resumes by its sample index alone.
///
/// With `is_reset`, a document begins where the source's index says, or else at each start token. In a source
/// with an index the target that is another document's first token is masked, for nothing foretells it; a
/// start token is a target like others, for it is what ends a document. What is left of a document at the
/// beginning of a window counts as a document of its own.
class BatchSource {
  public:
    /// A source and its place in the deck.
    struct Named {
        std::shared_ptr<const TokenSource> tokens;
        std::string key;
        std::string name = {};  ///< of its losses
    };

    /// \param vocab  tokens are below
    BatchSource(std::vector<Named> sources,
                std::unique_ptr<const SampleOrder> order,
                DocumentRule documents,
                std::int64_t vocab);

    std::int64_t num_samples() const { return order_->num_samples(); }

    std::size_t num_sources() const { return sources_.size(); }
    const std::string& name_of(std::size_t source) const { return sources_.at(source).name; }
    /// The source that a sample is of, below num_sources(). Allocates nothing.
    std::size_t source_of(std::int64_t sample) const {
        return static_cast<std::size_t>(order_->window(sample).source);
    }

    /// Fills `batch` with samples first_sample, first_sample + 1, ...; rows beyond num_samples() are masked
    /// whole. Allocates nothing.
    ///
    /// Errors: Error{deck} at a token that is not in the vocabulary
    void fill(Batch& batch, std::int64_t first_sample) const;

  private:
    void fill_row(Batch& batch, std::int64_t row, std::int64_t sample) const;
    void cut_at_documents(Batch& batch, std::int64_t row, const Window& window) const;

    std::vector<Named> sources_;
    std::unique_ptr<const SampleOrder> order_;
    DocumentRule documents_;
    std::int64_t vocab_;
};

}  // namespace ziggurat::data
