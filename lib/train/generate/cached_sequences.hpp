/// Sequences in a KV cache, and the passes that extend them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/context.hpp"
#include "layout/cache/kv_cache.hpp"
#include "spec/run_spec.hpp"
#include "train/generate/page_pool.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// A token that a pass reads, at the end of its sequence.
struct NextToken {
    int sequence = 0;
    std::int32_t token = 0;
    std::int32_t target = -1;  ///< the token whose loss is computed; -1: none
};

/// Runs the cached programs of an assembly, with all places in the cache.
///
/// All ranks make the same calls, except that the tokens of a call may differ between ranks of the data axis.
class CachedSequences {
  public:
    /// Begins without sequences. \pre the run has passes with a KV cache
    CachedSequences(const spec::RunSpec& spec, Assembly& assembly);

    /// Returns the largest length of a sequence.
    std::int64_t max_positions() const { return passes_.positions; }
    /// Returns the largest number of tokens of a call of logits().
    ///
    /// With several sequences, one is for a prompt.
    std::int64_t max_texts() const {
        return std::min(passes_.logit_rows, std::max<std::int64_t>(1, passes_.sequences - 1));
    }
    std::int64_t max_rows(schedule::CachedKind kind) const;
    std::int64_t length(int sequence) const { return lengths_.at(sequence); }

    /// Returns a new, empty sequence. Errors: Error{internal} if all are in use
    int open();
    /// Returns a new sequence with the first `positions` positions of `from`.
    int fork(int from, std::int64_t positions);
    /// Returns true if a sequence can continue after its first `positions` positions.
    ///
    /// Layers with a window keep only the pages of the window before the end of the sequence.
    bool can_cut(int sequence, std::int64_t positions) const;
    /// Removes all positions from `positions` on. \pre can_cut(); no other sequence shares their pages
    void cut(int sequence, std::int64_t positions);
    void close(int sequence);

    /// Adds tokens to their sequences, without logits. `tokens` may be empty.
    ///
    /// \param num_passes  passes that all data ranks run; at least passes_for(tokens.size())
    void read_prompts(std::span<const NextToken> tokens, std::int64_t num_passes);
    /// Returns the number of passes for that many tokens.
    std::int64_t passes_for(schedule::CachedKind kind, std::int64_t tokens) const;
    /// Adds tokens to their sequences. Returns the loss of each one, 0 without a target.
    std::vector<float> losses(std::span<const NextToken> tokens, std::int64_t num_passes);
    /// Adds tokens of different sequences. Returns the logits of the token after each one, [tokens, vocab],
    /// valid until the next call.
    ///
    /// \pre at most max_texts() tokens, in passes of texts (spec::passes_of_texts)
    /// Collective: over `world` if the model is split over the tensor axis or stages
    std::span<const float> logits(std::span<const NextToken> tokens);

  private:
    /// Runs one pass of at most max_rows(kind) tokens.
    void run(schedule::CachedKind kind, std::span<const NextToken> tokens);
    /// Pages of the layers that have one page table.
    struct Pool {
        layout::CacheLayers layers;
        PagePool pages;
    };
    /// Sets the pages that move in a pass of these tokens, if the home of the cache is not the device.
    void set_moved_pages(const Pool& pool,
                         std::span<const std::int32_t> sequences,
                         std::span<const std::int32_t> positions);

    const spec::RunSpec& spec_;
    Assembly& assembly_;
    spec::CachedPasses passes_;
    std::vector<Pool> pools_;
    std::vector<std::int64_t> lengths_;  ///< by sequence; -1: not in use
};

}  // namespace ziggurat::train
