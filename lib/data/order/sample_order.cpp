#include "data/order/sample_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/contract.hpp"
#include "data/order/order_weights.hpp"

namespace ziggurat::data {
namespace {

/// Minimum number of windows per epoch for shifted windows, which cost one window.
constexpr std::int64_t min_windows_to_shift = 16;

std::unique_ptr<const SourceMix> mix_of(const std::vector<SourcePart>& parts) {
    DataOrderState order;
    for (const auto& part : parts) {
        order.sources.push_back({.weight = part.weight});
    }
    return make_mix(order);
}

std::vector<SourcePart> parts_of(const DataOrderState& record) {
    std::vector<SourcePart> parts;
    for (const auto& source : record.sources) {
        parts.push_back({.source = static_cast<int>(parts.size()),
                         .begin = 0,
                         .end = source.trained,
                         .weight = source.weight,
                         .is_packed = source.is_packed});
    }
    return parts;
}

}  // namespace

TrainingOrder::TrainingOrder(std::vector<SourcePart> parts,
                             std::int64_t seq,
                             std::uint64_t seed,
                             bool is_shuffled)
    : parts_{std::move(parts)}, seq_{seq}, is_shuffled_{is_shuffled}, mix_{mix_of(parts_)} {
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        add_part(seed, static_cast<std::uint32_t>(p), {});
    }
}

TrainingOrder::TrainingOrder(const DataOrderState& record)
    : parts_{parts_of(record)},
      seq_{record.seq},
      is_shuffled_{record.is_shuffled},
      mix_{make_mix(record)},
      first_sample_{record.first_sample} {
    for (const auto& source : record.sources) {
        add_part(record.seed, source.stream, source.begin);
    }
}

void TrainingOrder::add_part(std::uint64_t seed, std::uint32_t stream, const SourcePosition& begin) {
    ZG_EXPECTS(seq_ >= 1);
    const std::int64_t windows = parts_[orders_.size()].num_windows(seq_);
    ZG_EXPECTS(windows >= 1);
    const bool is_shifted =
        is_shuffled_ && !parts_[orders_.size()].is_packed && windows >= min_windows_to_shift;
    orders_.emplace_back(is_shifted ? windows - 1 : windows, seed, stream);
    begins_.push_back(begin_of(begins_.size(), begin));
}

TrainingOrder::Begin TrainingOrder::begin_of(std::size_t part, const SourcePosition& source_position) const {
    ZG_EXPECTS(source_position.epoch >= 0 && source_position.tokens >= 0);
    const std::int64_t windows = orders_[part].size();
    if (is_shuffled_ || parts_[part].is_packed) {
        const std::int64_t passed = std::min(windows, source_position.tokens / seq_);
        return {source_position.epoch, passed * seq_, windows - passed};
    }
    const SourcePart& all = parts_[part];
    const std::int64_t passed = std::min(source_position.tokens, all.end - all.begin);
    return {source_position.epoch, passed,
            SourcePart{.begin = all.begin + passed, .end = all.end}.num_windows(seq_)};
}

std::int64_t TrainingOrder::num_samples() const {
    return std::numeric_limits<std::int64_t>::max();
}

std::int64_t TrainingOrder::shift_of(std::size_t part, std::int64_t epoch) const {
    const Permutation& order = orders_[part];
    return order.size() < parts_[part].num_windows(seq_) ? order.draw(epoch, seq_) : 0;
}

std::int64_t TrainingOrder::first_token(int part, std::int64_t epoch, std::int64_t position) const {
    const std::size_t p = part;
    const std::int64_t window = is_shuffled_ ? orders_[p].at(epoch, position) : position;
    return parts_[p].begin + shift_of(p, epoch) + window * seq_;
}

Window TrainingOrder::window(std::int64_t sample) const {
    const auto pick = mix_->pick(sample - first_sample_);
    const std::size_t p = pick.source;
    const int source = parts_[p].source;
    const std::int64_t later = pick.index - begins_[p].windows;
    if (later < 0) {
        return {source, token_ahead(pick.source, pick.index * seq_)};
    }
    return {source, first_token(pick.source, begins_[p].epoch + 1 + later / orders_[p].size(),
                                later % orders_[p].size())};
}

std::int64_t TrainingOrder::tokens_left(int part) const {
    return begins_[part].windows * seq_;
}

std::int64_t TrainingOrder::token_ahead(int part, std::int64_t passed) const {
    const std::size_t p = part;
    const Begin& begin = begins_[p];
    return is_shuffled_ ? first_token(part, begin.epoch, (begin.tokens + passed) / seq_) + passed % seq_
                        : parts_[p].begin + begin.tokens + passed;
}

SourcePosition TrainingOrder::position_after(int part, std::int64_t count) const {
    const Begin& begin = begins_[part];
    const std::int64_t later = count - begin.windows;
    const std::int64_t windows = orders_[part].size();
    return later < 0 ? SourcePosition{begin.epoch, begin.tokens + count * seq_}
                     : SourcePosition{begin.epoch + 1 + later / windows, later % windows * seq_};
}

std::vector<SourcePosition> TrainingOrder::positions(std::int64_t sample) const {
    std::vector<std::int64_t> counts(parts_.size());
    count(sample, counts);
    std::vector<SourcePosition> positions;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        positions.push_back(position_after(static_cast<int>(p), counts[p]));
    }
    return positions;
}

bool TrainingOrder::has_passed(int part, std::int64_t token, const SourcePosition& source_position) const {
    const std::size_t p = part;
    const std::int64_t offset = token - parts_[p].begin - shift_of(p, source_position.epoch);
    if (!is_shuffled_) {
        return offset < source_position.tokens;
    }
    const std::int64_t window = offset / seq_;
    return offset >= 0 && window < orders_[p].size() &&
           orders_[p].position_of(source_position.epoch, window) < source_position.tokens / seq_;
}

SequentialOrder::SequentialOrder(std::vector<SourcePart> parts,
                                 std::int64_t seq,
                                 std::int64_t limit,
                                 Rest rest)
    : parts_{std::move(parts)}, seq_{seq}, rest_{rest} {
    ZG_EXPECTS(seq >= 1 && limit >= 0);
    for (const auto& part : parts_) {
        num_windows_ += part.num_windows(seq, rest);
    }
    num_samples_ = limit == 0 ? num_windows_ : std::min(limit, num_windows_);
}

Window SequentialOrder::window(std::int64_t sample) const {
    ZG_EXPECTS(sample >= 0 && sample < num_samples_);
    // sample x num_windows / num_samples, in two terms that do not overflow
    std::int64_t window =
        sample * (num_windows_ / num_samples_) + sample * (num_windows_ % num_samples_) / num_samples_;
    for (const auto& part : parts_) {
        const std::int64_t windows = part.num_windows(seq_, rest_);
        if (window < windows) {
            const std::int64_t first = part.begin + window * seq_;
            return {part.source, first, std::max(first + seq_ + 1 - part.end, std::int64_t{0})};
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
