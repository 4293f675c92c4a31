#include "schedule/place/pack_buffers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>

#include "schedule/place/memory_timeline.hpp"

namespace ziggurat::schedule {
namespace {

/// Number of buffers that the repetitions of one order place: a few ms.
constexpr std::size_t max_placed_again = 4096;

using Order = std::vector<std::size_t>;

/// Replaces ops by the number of different first ops before them, so that a timeline is short.
std::vector<BufferToPack> in_short_time(std::vector<BufferToPack> buffers) {
    std::vector<int> begins;
    for (const auto& buffer : buffers) {
        begins.push_back(buffer.life.first);
    }
    std::ranges::sort(begins);
    const auto repeated = std::ranges::unique(begins);
    begins.erase(repeated.begin(), repeated.end());
    for (auto& [life, bytes, alignment] : buffers) {
        life.first = static_cast<int>(std::ranges::lower_bound(begins, life.first) - begins.begin());
        life.last = static_cast<int>(std::ranges::upper_bound(begins, life.last) - begins.begin()) - 1;
    }
    return buffers;
}

/// Returns the buffers by decreasing `weight`; those of equal weight by their begin.
template <class Weight>
Order by_decreasing(const std::vector<BufferToPack>& buffers, const Weight& weight) {
    Order order(buffers.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t b) {
        return std::pair{-weight(buffers[b]), buffers[b].life.first};
    });
    return order;
}

double length(const BufferToPack& buffer) {
    return buffer.life.last - buffer.life.first + 1;
}

double size(const BufferToPack& buffer) {
    return static_cast<double>(buffer.bytes);
}

class Packer {
  public:
    Packer(std::vector<BufferToPack> buffers, std::int64_t begin)
        : buffers_{in_short_time(std::move(buffers))},
          begin_{begin},
          by_size_{by_decreasing(buffers_, size)},
          by_length_{by_decreasing(buffers_, length)},
          by_product_{by_decreasing(buffers_, [](const auto& b) { return size(b) * length(b); })} {}

    PackedOffsets best(std::int64_t enough) {
        const std::array orders{&by_size_, &by_length_, &by_product_};
        const auto repetitions = buffers_.empty() ? 0 : max_placed_again / buffers_.size();
        for (auto* order : orders) {
            try_order(*order, repetitions == 0);
            if (best_->end <= enough) {
                return std::move(*best_);
            }
        }
        for (auto* order : orders) {
            for (std::size_t i = 0; i < repetitions && best_->end > enough; ++i) {
                try_order(*order, false);
            }
        }
        return std::move(*best_);
    }

  private:
    /// Packs in this order, keeps the result if it is the smallest, and moves the highest buffer halfway to
    /// the front of the order.
    ///
    /// \param is_last  true if the order is not used again: a packing that is too large is not completed
    void try_order(Order& order, bool is_last) {
        MemoryTimeline timeline{buffers_.size(), begin_};
        PackedOffsets made{std::vector<std::int64_t>(buffers_.size()), begin_};
        std::size_t highest = 0;  // position in the order
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto& [life, bytes, alignment] = buffers_[order[i]];
            made.offsets[order[i]] = timeline.take(life, bytes, alignment);
            if (timeline.end() > made.end) {
                made.end = timeline.end();
                highest = i;
                if (is_last && best_ && made.end >= best_->end) {
                    return;
                }
            }
        }
        if (!order.empty()) {
            const auto at = order.begin() + static_cast<std::ptrdiff_t>(highest);
            std::rotate(order.begin() + static_cast<std::ptrdiff_t>(highest / 2), at, at + 1);
        }
        if (!best_ || made.end < best_->end) {
            best_ = std::move(made);
        }
    }

    std::vector<BufferToPack> buffers_;
    std::int64_t begin_;
    Order by_size_, by_length_, by_product_;
    std::optional<PackedOffsets> best_;
};

}  // namespace

PackedOffsets pack_buffers(std::vector<BufferToPack> buffers, std::int64_t begin, std::int64_t enough) {
    return Packer{std::move(buffers), begin}.best(enough);
}

}  // namespace ziggurat::schedule
