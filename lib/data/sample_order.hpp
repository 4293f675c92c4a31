/// Order of samples: the tokens of a sample are a function of its global index alone.
#pragma once

#include <cstdint>
#include <vector>

#include "data/order_record.hpp"
#include "data/permutation.hpp"
#include "data/source_mix.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

/// The tokens after the last whole window of a part, which are fewer than one has.
enum class Rest { left_out, included };

/// Tokens [begin, end) of a source, cut into windows of seq + 1 tokens of which neighbours share one.
struct SourcePart {
    int source = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    double weight = 1;

    /// Windows of seq + 1 tokens that fit.
    std::int64_t num_windows(std::int64_t seq) const noexcept {
        return end - begin > seq ? (end - begin - 1) / seq : 0;
    }
    /// The same, and one of what is left, if that has a target.
    std::int64_t num_windows(std::int64_t seq, Rest rest) const noexcept {
        const bool has_rest = rest == Rest::included && end - begin - 1 > num_windows(seq) * seq;
        return num_windows(seq) + (has_rest ? 1 : 0);
    }
};

/// The place of a sample's first token; seq more follow.
struct Window {
    int source = 0;
    std::int64_t first_token = 0;
    std::int64_t missing = 0;  ///< of the seq tokens that follow, those behind the end of the part
    bool operator==(const Window&) const = default;
};

class SampleOrder {
  public:
    virtual ~SampleOrder() = default;

    /// Samples are 0 .. num_samples() - 1.
    virtual std::int64_t num_samples() const = 0;
    virtual Window window(std::int64_t sample) const = 0;
};

/// For training: sources by weight, each of them epoch after epoch without end.
///
/// An epoch of a source visits each of its windows once: in turn, or shuffled in an order of its own given by
/// (seed, stream, epoch), where the stream of a part is its place in the list. Shuffled epochs also cut their
/// windows at places of their own: all begin 0 to seq - 1 tokens later, for which a source of 16 windows or
/// more gives up one.
///
/// An order that begins inside an epoch takes what is left of it: in turn, from the next token on; shuffled,
/// the windows behind as many as the tokens that were passed make.
class TrainingOrder final : public SampleOrder {
  public:
    /// \param parts  each holds a window at least
    TrainingOrder(std::vector<SourcePart> parts, std::int64_t seq, std::uint64_t seed, bool is_shuffled);

    /// \param record  of sources that hold a window at least each; part p is source p
    explicit TrainingOrder(const OrderRecord& record);

    std::int64_t num_samples() const override;
    /// \pre sample >= the first of the order
    Window window(std::int64_t sample) const override;

    /// By part, where training stands once it has come to `sample`.
    std::vector<SourcePlace> places(std::int64_t sample) const;

    /// The first token of the window at `position` of an epoch of part `part`; another position is another
    /// window.
    std::int64_t first_token(int part, std::int64_t epoch, std::int64_t position) const;

    /// Tokens that are left of the epoch of part `part` in which the order begins, and the one behind
    /// `passed` of them.
    std::int64_t tokens_left(int part) const;
    std::int64_t token_ahead(int part, std::int64_t passed) const;

    /// Whether training passes `token`, one of part `part`, before it comes to `place`, in the epoch of
    /// `place`.
    bool has_passed(int part, std::int64_t token, const SourcePlace& place) const;

    /// Of part `part`.
    std::int64_t windows_per_epoch(int part) const {
        return orders_.at(static_cast<std::size_t>(part)).size();
    }

  private:
    /// Where the order begins in a part.
    struct Begin {
        std::int64_t epoch = 0;
        std::int64_t tokens = 0;   ///< passed of that epoch; shuffled: of whole windows
        std::int64_t windows = 0;  ///< left of that epoch
    };

    void add_part(std::uint64_t seed, std::uint32_t stream, const SourcePlace& begin);
    std::int64_t shift_of(std::size_t part, std::int64_t epoch) const;
    Begin begin_of(std::size_t part, const SourcePlace& place) const;

    std::vector<SourcePart> parts_;
    std::int64_t seq_;
    bool is_shuffled_;
    SourceMix mix_;
    std::int64_t first_sample_ = 0;
    std::vector<Permutation> orders_;  // by part
    std::vector<Begin> begins_;        // by part
};

/// For validation: every window once, in turn; or `limit` of them, evenly spread.
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

/// The global index of a sequence: sample i of a step goes to data rank i / (global_batch / data_degree), and
/// there to micro-batch after micro-batch, row after row. So which samples a step has, and in what order,
/// depends neither on the data degree nor on the size of a micro-batch.
///
/// \param train  with global_batch = micro_batches x micro_batch x data_degree
std::int64_t sample_of(const spec::Train& train,
                       int data_degree,
                       std::int64_t step,
                       int data_rank,
                       std::int64_t micro_batch,
                       std::int64_t row);

}  // namespace ziggurat::data
