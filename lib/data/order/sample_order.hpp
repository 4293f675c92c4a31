/// Order of samples: the tokens of a sample depend only on its global index.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/order/data_order_state.hpp"
#include "data/order/permutation.hpp"
#include "data/order/source_mix.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// Use of the tokens after the last whole window of a part, which are fewer than one window.
enum class Rest { left_out, included };

/// Tokens [begin, end) of a source, divided into windows of seq + 1 tokens.
///
/// Adjacent windows share one token.
struct SourcePart {
    int source = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    double weight = 1;
    bool is_packed = false;  ///< windows begin only at `begin` and multiples of seq after it

    /// Returns the number of whole windows of seq + 1 tokens.
    std::int64_t num_windows(std::int64_t seq) const noexcept {
        return end - begin > seq ? (end - begin - 1) / seq : 0;
    }
    /// Returns the same, plus one for the rest if it is included and has a target.
    std::int64_t num_windows(std::int64_t seq, Rest rest) const noexcept {
        const bool has_rest = rest == Rest::included && end - begin - 1 > num_windows(seq) * seq;
        return num_windows(seq) + (has_rest ? 1 : 0);
    }
};

/// The position of a sample's first token; seq more tokens follow.
struct Window {
    int source = 0;
    std::int64_t first_token = 0;
    std::int64_t missing = 0;  ///< number of the seq following tokens that are after the end of the part
    bool operator==(const Window&) const = default;
};

class SampleOrder {
  public:
    virtual ~SampleOrder() = default;

    /// Samples are 0 .. num_samples() - 1.
    virtual std::int64_t num_samples() const = 0;
    virtual Window window(std::int64_t sample) const = 0;
};

/// Order for training: sources by weight, each with an unbounded number of epochs.
///
/// Thread: not thread-safe, see SourceMix
///
/// An epoch of a source visits each of its windows once, in sequence or shuffled. The shuffle depends on
/// (seed, stream, epoch), where the stream of a part is its index in the list. Shuffled epochs also shift
/// their windows: all begin 0 to seq - 1 tokens later. A source of 16 or more windows loses one window for
/// this. Windows of packed sources are never shifted.
///
/// An order that begins inside an epoch uses the rest of it. In sequence, it starts at the next token.
/// Shuffled or packed, it skips the number of windows that the used tokens amount to.
class TrainingOrder final : public SampleOrder {
  public:
    /// \param parts  each holds at least one window
    TrainingOrder(std::vector<SourcePart> parts, std::int64_t seq, std::uint64_t seed, bool is_shuffled);

    /// \param record  each source holds at least one window; part p is source p
    explicit TrainingOrder(const DataOrderState& record);

    std::int64_t num_samples() const override;
    /// \pre sample >= DataOrderState::reached_sample
    Window window(std::int64_t sample) const override;

    /// Returns, by part, the progress of training when it reaches `sample`.
    std::vector<SourcePosition> positions(std::int64_t sample) const;

    /// Writes the number of samples of each part from the first of the order to before `sample`.
    void count(std::int64_t sample, std::span<std::int64_t> counts) const {
        mix_->count(sample - first_sample_, counts);
    }

    /// Returns the progress of training in part `part` after `count` samples of it in this order.
    SourcePosition position_after(int part, std::int64_t count) const;

    /// Returns the first token of the window at `position` of an epoch of part `part`.
    ///
    /// Different positions have different windows.
    std::int64_t first_token(int part, std::int64_t epoch, std::int64_t position) const;

    /// Returns the number of tokens left in part `part` in the epoch in which the order begins.
    ///
    /// token_ahead() returns the token after `passed` of them.
    std::int64_t tokens_left(int part) const;
    std::int64_t token_ahead(int part, std::int64_t passed) const;

    /// Returns true if training uses `token` of part `part` before it reaches `source_position`.
    ///
    /// Only the epoch of `source_position` counts.
    bool has_passed(int part, std::int64_t token, const SourcePosition& source_position) const;

    /// Returns the number of windows in an epoch of part `part`.
    std::int64_t windows_per_epoch(int part) const { return orders_.at(part).size(); }

  private:
    /// Start of the order in a part.
    struct Begin {
        std::int64_t epoch = 0;
        std::int64_t tokens = 0;   ///< used tokens of that epoch; if shuffled: of whole windows
        std::int64_t windows = 0;  ///< windows left in that epoch
    };

    void add_part(std::uint64_t seed, std::uint32_t stream, const SourcePosition& begin);
    std::int64_t shift_of(std::size_t part, std::int64_t epoch) const;
    Begin begin_of(std::size_t part, const SourcePosition& source_position) const;

    std::vector<SourcePart> parts_;
    std::int64_t seq_;
    bool is_shuffled_;
    std::unique_ptr<const SourceMix> mix_;
    std::int64_t first_sample_ = 0;
    std::vector<Permutation> orders_;  // by part
    std::vector<Begin> begins_;        // by part
};

/// Order for validation: every window once in sequence, or `limit` evenly spaced windows.
class SequentialOrder final : public SampleOrder {
  public:
    /// \param limit  0: all
    SequentialOrder(std::vector<SourcePart> parts,
                    std::int64_t seq,
                    std::int64_t limit,
                    Rest rest = Rest::left_out);

    std::int64_t num_samples() const override { return num_samples_; }
    Window window(std::int64_t sample) const override;

  private:
    std::vector<SourcePart> parts_;
    std::int64_t seq_;
    Rest rest_;
    std::int64_t num_windows_ = 0;
    std::int64_t num_samples_ = 0;
};

/// Returns the global index of a sequence.
///
/// Sample i of a step belongs to data rank i / (global_batch / data_degree). There, samples fill micro-batch
/// after micro-batch, row by row. The samples of a step and their order therefore depend neither on the data
/// degree nor on the size of a micro-batch.
///
/// \param train  with global_batch = micro_batches x micro_batch x data_degree
std::int64_t sample_of(const spec::Train& train,
                       int data_degree,
                       std::int64_t step,
                       int data_rank,
                       std::int64_t micro_batch,
                       std::int64_t row);

}  // namespace ziggurat::data
