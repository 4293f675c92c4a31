#include "data/pack/target_count.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/pack/packed_source.hpp"

namespace ziggurat::data {
namespace {

/// Counts the targets in consecutive sequences.
class Counter {
  public:
    Counter(const TokenSource& tokens, const spec::Data& data, const StopCheck& stop)
        : tokens_{tokens},
          seq_{data.seq},
          masks_starts_{data.reset_at_document && tokens.has_document_index()},
          stop_{stop} {}

    bool masks_any() const { return masks_starts_ || tokens_.has_loss_mask(); }

    /// Returns the number of targets in the whole sequences of [begin, end), which has their last target.
    std::int64_t count(std::int64_t begin, std::int64_t end) {
        const std::int64_t sequences = std::max<std::int64_t>(end - begin - 1, 0) / seq_;
        const std::int64_t last = begin + sequences * seq_;
        std::int64_t found = 0;
        for (std::int64_t at = begin + 1; at <= last; at += read_at_once) {
            check(stop_);
            found += count_in(at, std::min(read_at_once, last + 1 - at));
            if (found > 0 && !tokens_.has_loss_mask()) {
                return 1;
            }
        }
        return found;
    }

  private:
    static constexpr std::int64_t read_at_once = std::int64_t{1} << 16;

    std::int64_t count_in(std::int64_t begin, std::int64_t length) {
        counts_.assign(length, 1);
        starts_.assign(length, 0);
        if (tokens_.has_loss_mask()) {
            tokens_.mark_counted(begin, counts_);
        }
        if (masks_starts_) {
            tokens_.mark_document_starts(begin, starts_);
        }
        std::int64_t found = 0;
        for (std::int64_t i = 0; i < length; ++i) {
            found += counts_[i] != 0 && starts_[i] == 0 ? 1 : 0;
        }
        return found;
    }

    const TokenSource& tokens_;
    std::int64_t seq_;
    bool masks_starts_;
    const StopCheck& stop_;
    std::vector<std::uint8_t> counts_, starts_;
};

}  // namespace

std::optional<TargetCount> count_targets(const TokenSource& tokens,
                                         const spec::Data& data,
                                         double held_out,
                                         const StopCheck& stop) {
    // In a packed sequence, a target that counts is any token that counts: padding and first tokens do not.
    if (const auto* packed = dynamic_cast<const PackedSource*>(&tokens)) {
        const auto counted = packed->count_counted(stop);
        return TargetCount{.trained = counted.trained, .held_out = counted.held_out};
    }
    Counter counter{tokens, data, stop};
    if (!counter.masks_any()) {
        return std::nullopt;
    }
    const auto all = tokens.num_tokens();
    const auto middle = all - static_cast<std::int64_t>(std::floor(static_cast<double>(all) * held_out));
    return TargetCount{.trained = counter.count(0, middle),
                       .held_out = counter.count(middle, all),
                       .is_exact = tokens.has_loss_mask()};
}

}  // namespace ziggurat::data
