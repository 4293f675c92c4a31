#include "train/source_use.hpp"

#include "base/contract.hpp"
#include "data/order/order_weights.hpp"

namespace ziggurat::train {

SourceUse::SourceUse(const data::DataOrderState& order,
                     std::span<const spec::Source> sources,
                     std::int64_t next_sample)
    : order_{order}, counts_(order.sources.size()), next_sample_{next_sample} {
    ZG_EXPECTS(sources.size() == order.sources.size());
    shares_.push_back({order.first_sample, data::shares_at(order, order.first_sample)});
    for (const std::int64_t sample : data::change_samples(order)) {
        shares_.push_back({sample, data::shares_at(order, sample)});
    }
    order_.count(next_sample, counts_);
    for (std::size_t s = 0; s < sources.size(); ++s) {
        earlier_.push_back(order.sources[s].earlier);
        epochs_.push_back(epoch_of(s));
        by_source_.push_back({.name = sources[s].name, .total = earlier_[s] + counts_[s]});
        begun_.push_back({});
    }
}

std::int64_t SourceUse::epoch_of(std::size_t source) const {
    const auto position = order_.position_after(static_cast<int>(source), counts_[source]);
    return position.tokens > 0 ? position.epoch : position.epoch - 1;
}

void SourceUse::add_step(std::int64_t next_sample) {
    while (range_ + 1 < shares_.size() && shares_[range_ + 1].sample <= next_sample_) {
        ++range_;  // the shares of the step's first sample
    }
    next_sample_ = next_sample;
    order_.count(next_sample, counts_);
    num_begun_ = 0;
    for (std::size_t s = 0; s < by_source_.size(); ++s) {
        auto& of_source = by_source_[s];
        const std::int64_t total = earlier_[s] + counts_[s];
        of_source.samples = total - of_source.total;
        of_source.total = total;
        of_source.share = shares_[range_].of_sources[s];
        const std::int64_t epoch = epoch_of(s);
        if (epoch > epochs_[s] && epoch > 0) {
            begun_[num_begun_++] = {.source = of_source.name, .epoch = epoch + 1};
        }
        epochs_[s] = epoch;
    }
}

}  // namespace ziggurat::train
