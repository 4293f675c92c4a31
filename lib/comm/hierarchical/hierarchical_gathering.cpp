#include "comm/hierarchical/hierarchical_gathering.hpp"

#include <algorithm>

#include "base/contract.hpp"

namespace ziggurat::comm {

HierarchicalGathering::HierarchicalGathering(const HierarchicalTask& task,
                                             const std::byte* own,
                                             const std::vector<Block>& blocks,
                                             const HierarchicalReduction* sums,
                                             MessageStreams& streams)
    : streams_{&streams},
      sums_{sums},
      threads_{task.threads},
      stores_{task.stores},
      is_in_place_{task.in() == task.out()},
      own_bytes_{blocks[task.rank].bytes} {
    const HierarchicalPlan& plan = *task.plan;
    const std::int64_t piece_bytes = sums == nullptr ? direct_piece_bytes : sums->piece_bytes();
    const int tag = task.tag + 1;
    for (int i = 1; i < plan.num_nodes() && own_bytes_ > 0; ++i) {
        const int node = (task.node() + i) % plan.num_nodes();
        departures_.push_back(streams.add({.peer = plan.gatherer(node, task.rank),
                                           .tag = tag,
                                           .is_send = true,
                                           .base = MessageStreams::without_const(own),
                                           .bytes = own_bytes_,
                                           .piece_bytes = piece_bytes,
                                           .window = direct_window}));
    }
    std::int64_t longest = 0;
    for (int i = 1; i <= plan.size(); ++i) {
        const int owner = (task.rank + i) % plan.size();
        const Block& block = blocks[owner];
        const bool is_neighbour = task.is_neighbour(owner);
        if (block.bytes == 0 || (is_neighbour && sums == nullptr)) {
            continue;  // empty, or read with the inputs
        }
        longest = std::max(longest, block.bytes);
        const int holder = is_neighbour ? owner : plan.gatherer(task.node(), owner);
        std::byte* to = task.out() + block.offset_bytes;
        if (holder != task.rank) {
            pulls_.push_back({owner, task.output_of(holder) + block.offset_bytes, to, block.bytes});
        } else if (owner != task.rank) {
            arrivals_.push_back({owner, streams.add({.peer = owner,
                                                     .tag = tag,
                                                     .base = to,
                                                     .bytes = block.bytes,
                                                     .piece_bytes = piece_bytes,
                                                     .window = direct_window})});
        }
    }
    if (task.neighbours().size() > 1) {
        num_rounds_ = static_cast<int>((longest + round_bytes - 1) / round_bytes);
    }
}

void HierarchicalGathering::allow() {
    if (sums_ == nullptr) {
        return;
    }
    for (const auto stream : departures_) {
        (*streams_)[stream].allowed = sums_->pieces_done();
    }
    // In place, a sum overwrites this member's addend.
    for (const auto& [owner, stream] : arrivals_) {
        if (is_in_place_) {
            (*streams_)[stream].allowed = sums_->pieces_used(owner);
        }
    }
}

int HierarchicalGathering::rounds_ready() const {
    int ready = num_rounds_;
    const auto limit_to = [&](std::int64_t held, std::int64_t bytes) {
        if (held < bytes) {
            ready = std::min(ready, static_cast<int>(held / round_bytes));
        }
    };
    for (const auto& [owner, number] : arrivals_) {
        const MessageStream& stream = (*streams_)[number];
        limit_to(stream.done * stream.piece_bytes, stream.bytes);
    }
    if (sums_ != nullptr) {
        limit_to(sums_->pieces_done() * sums_->piece_bytes(), own_bytes_);
    }
    return ready;
}

bool HierarchicalGathering::can_pull() const {
    if (sums_ == nullptr || !is_in_place_) {
        return true;
    }
    const std::int64_t end = (rounds_pulled_ + 1) * round_bytes;
    return std::all_of(pulls_.begin(), pulls_.end(), [&](const Pull& pull) {
        return sums_->pieces_used(pull.owner) * sums_->piece_bytes() >= std::min(end, pull.bytes);
    });
}

std::int64_t HierarchicalGathering::pull_round() {
    ZG_EXPECTS(rounds_pulled_ < num_rounds_ && can_pull());
    const std::int64_t begin = rounds_pulled_ * round_bytes;
    std::int64_t pulled = 0;
    for (const auto& [owner, from, to, bytes] : pulls_) {
        const std::int64_t count = std::clamp<std::int64_t>(bytes - begin, 0, round_bytes);
        if (count > 0) {
            copy_with(threads_, to + begin, from + begin, count, stores_);
            pulled += count;
        }
    }
    ++rounds_pulled_;
    return pulled;
}

}  // namespace ziggurat::comm
