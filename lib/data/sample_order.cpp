#include "data/sample_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

/// From this many windows on, one of them buys windows that begin elsewhere in every epoch.
constexpr std::int64_t min_windows_to_shift = 16;

std::vector<double> weights_of(const std::vector<SourcePart>& parts) {
    std::vector<double> weights;
    for (const auto& part : parts) {
        weights.push_back(part.weight);
    }
    return weights;
}

}  // namespace

TrainingOrder::TrainingOrder(std::vector<SourcePart> parts,
                             std::int64_t seq,
                             std::uint64_t seed,
                             bool is_shuffled)
    : parts_{std::move(parts)}, seq_{seq}, is_shuffled_{is_shuffled}, mix_{weights_of(parts_)} {
    ZG_EXPECTS(seq >= 1);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const std::int64_t windows = parts_[p].num_windows(seq);
        ZG_EXPECTS(windows >= 1);
        const bool is_shifted = is_shuffled && windows >= min_windows_to_shift;
        orders_.emplace_back(is_shifted ? windows - 1 : windows, seed, static_cast<std::uint32_t>(p));
    }
}

std::int64_t TrainingOrder::num_samples() const {
    return std::numeric_limits<std::int64_t>::max();
}

Window TrainingOrder::window(std::int64_t sample) const {
    const auto pick = mix_.pick(sample);
    const auto p = static_cast<std::size_t>(pick.source);
    const SourcePart& part = parts_[p];
    const Permutation& order = orders_[p];
    const std::int64_t epoch = pick.index / order.size();
    std::int64_t window = pick.index % order.size();
    std::int64_t shift = 0;
    if (is_shuffled_) {
        window = order.at(epoch, window);
        if (order.size() < part.num_windows(seq_)) {
            shift = order.draw(epoch, seq_);
        }
    }
    return {part.source, part.begin + shift + window * seq_};
}

SequentialOrder::SequentialOrder(std::vector<SourcePart> parts, std::int64_t seq, std::int64_t limit)
    : parts_{std::move(parts)}, seq_{seq} {
    ZG_EXPECTS(seq >= 1 && limit >= 0);
    for (const auto& part : parts_) {
        num_windows_ += part.num_windows(seq);
    }
    num_samples_ = limit == 0 ? num_windows_ : std::min(limit, num_windows_);
}

Window SequentialOrder::window(std::int64_t sample) const {
    ZG_EXPECTS(sample >= 0 && sample < num_samples_);
    // sample x num_windows / num_samples, in two parts that stay small
    std::int64_t window =
        sample * (num_windows_ / num_samples_) + sample * (num_windows_ % num_samples_) / num_samples_;
    for (const auto& part : parts_) {
        const std::int64_t windows = part.num_windows(seq_);
        if (window < windows) {
            return {part.source, part.begin + window * seq_};
        }
        window -= windows;
    }
    ZG_EXPECTS(false && "the windows add up to num_windows");
    return {};
}

std::int64_t sample_of(const spec::Train& train,
                       int data_degree,
                       std::int64_t step,
                       int data_rank,
                       std::int64_t micro_batch,
                       std::int64_t row) {
    ZG_EXPECTS(train.global_batch % data_degree == 0 && data_rank >= 0 && data_rank < data_degree);
    const std::int64_t per_rank = train.global_batch / data_degree;
    const std::int64_t in_rank = micro_batch * train.micro_batch + row;
    ZG_EXPECTS(row >= 0 && row < train.micro_batch && micro_batch >= 0 && in_rank < per_rank);
    return step * train.global_batch + data_rank * per_rank + in_rank;
}

}  // namespace ziggurat::data
