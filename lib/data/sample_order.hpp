/// Order of samples: the tokens of a sample are a function of its global index alone.
#pragma once

#include <cstdint>
#include <vector>

#include "data/permutation.hpp"
#include "data/source_mix.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::data {

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
};

/// The place of a sample's first token; seq more follow.
struct Window {
    int source = 0;
    std::int64_t first_token = 0;
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
/// (seed, source, epoch). Shuffled epochs also cut their windows at places of their own: all begin 0 to seq -
/// 1 tokens later, for which a source of 16 windows or more gives up one.
class TrainingOrder final : public SampleOrder {
  public:
    /// \param parts  each holds a window at least
    TrainingOrder(std::vector<SourcePart> parts, std::int64_t seq, std::uint64_t seed, bool is_shuffled);

    std::int64_t num_samples() const override;
    Window window(std::int64_t sample) const override;

    /// Of part `part`.
    std::int64_t windows_per_epoch(int part) const {
        return orders_.at(static_cast<std::size_t>(part)).size();
    }

  private:
    std::vector<SourcePart> parts_;
    std::int64_t seq_;
    bool is_shuffled_;
    SourceMix mix_;
    std::vector<Permutation> orders_;  // by part
};

/// For validation: every window once, in turn; or `limit` of them, evenly spread.
class SequentialOrder final : public SampleOrder {
  public:
    /// \param limit  0: all
    SequentialOrder(std::vector<SourcePart> parts, std::int64_t seq, std::int64_t limit);

    std::int64_t num_samples() const override { return num_samples_; }
    Window window(std::int64_t sample) const override;

  private:
    std::vector<SourcePart> parts_;
    std::int64_t seq_;
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
