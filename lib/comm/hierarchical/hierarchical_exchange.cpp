#include "comm/hierarchical/hierarchical_exchange.hpp"

#include <utility>

#include "base/contract.hpp"

namespace ziggurat::comm {

HierarchicalExchange::HierarchicalExchange(HierarchicalTask task, MPI_Comm comm)
    : task_{std::move(task)}, streams_{comm} {
    const CollectiveCall& call = task_.call;
    const auto me = static_cast<std::size_t>(task_.rank);
    switch (call.kind) {
        case CollectiveKind::reduce_scatter:
            sums_.emplace(task_, task_.out(), streams_);
            break;
        case CollectiveKind::all_reduce: {
            std::byte* own = task_.out() + call.blocks[me].offset_bytes;
            sums_.emplace(task_, own, streams_);
            gathering_.emplace(task_, own, call.blocks, &*sums_, streams_);
            break;
        }
        case CollectiveKind::all_gather:
            own_copy_ = {task_.in(), task_.out() + call.blocks[me].offset_bytes, call.blocks[me].bytes};
            gather_blocks(call.blocks, task_.in());
            break;
        case CollectiveKind::broadcast: {
            std::vector<Block> blocks(static_cast<std::size_t>(task_.plan->size()));
            blocks[static_cast<std::size_t>(call.peer)] = call.blocks.front();
            gather_blocks(blocks, task_.in() + call.blocks.front().offset_bytes);
            break;
        }
        case CollectiveKind::all_to_all:
            own_copy_ = {task_.in() + call.blocks[me].offset_bytes,
                         task_.out() + call.output_blocks[me].offset_bytes, call.blocks[me].bytes};
            exchange_blocks();
            break;
        case CollectiveKind::send:
        case CollectiveKind::receive:
            ZG_EXPECTS(false && "send and receive are not collectives of the group");
    }
}

void HierarchicalExchange::gather_blocks(const std::vector<Block>& blocks, const std::byte* own) {
    gathering_.emplace(task_, own, blocks, nullptr, streams_);
    for (const int neighbour : task_.neighbours()) {
        const Block& block = blocks[static_cast<std::size_t>(neighbour)];
        if (neighbour != task_.rank && block.bytes > 0) {
            input_pulls_.push_back(
                {task_.input_of(neighbour), task_.out() + block.offset_bytes, block.bytes});
        }
    }
}

void HierarchicalExchange::exchange_blocks() {
    const int size = task_.plan->size();
    for (int i = 1; i < size; ++i) {
        const int from = (task_.rank - i + size) % size;
        const int to = (task_.rank + i) % size;
        const Block& arrives = task_.call.output_blocks[static_cast<std::size_t>(from)];
        const Block& leaves = task_.block_of(to);
        if (task_.is_neighbour(from) && arrives.bytes > 0) {
            input_pulls_.push_back({task_.input_of(from) + task_.vectors.offsets_for_me[task_.index_of(from)],
                                    task_.out() + arrives.offset_bytes, arrives.bytes});
        } else if (!task_.is_neighbour(from)) {
            streams_.add({.peer = from,
                          .tag = task_.tag,
                          .base = task_.out() + arrives.offset_bytes,
                          .bytes = arrives.bytes,
                          .piece_bytes = direct_piece_bytes,
                          .window = direct_window});
        }
        if (!task_.is_neighbour(to)) {
            streams_.add({.peer = to,
                          .tag = task_.tag,
                          .is_send = true,
                          .base = MessageStreams::without_const(task_.in() + leaves.offset_bytes),
                          .bytes = leaves.bytes,
                          .piece_bytes = direct_piece_bytes,
                          .window = direct_window});
        }
    }
}

void HierarchicalExchange::start() {
    ZG_EXPECTS(!is_running_);
    is_running_ = true;
    inputs_pulled_ = 0;
    streams_.rewind();
    if (sums_) {
        sums_->rewind();
    }
    if (gathering_) {
        gathering_->rewind();
    }
    if (own_copy_.bytes > 0 && own_copy_.from != own_copy_.to) {
        copy_with(task_.threads, own_copy_.to, own_copy_.from, own_copy_.bytes, task_.stores);
    }
}

bool HierarchicalExchange::pull_inputs() {
    if (inputs_pulled_ == input_pulls_.size()) {
        return false;
    }
    const auto& [from, to, bytes] = input_pulls_[inputs_pulled_++];
    copy_with(task_.threads, to, from, bytes, task_.stores);
    bytes_moved_ += bytes;
    return true;
}

void HierarchicalExchange::progress(bool may_read_inputs) {
    for (bool is_moving = true; is_moving;) {
        is_moving = streams_.collect();
        if (may_read_inputs) {
            is_moving = (sums_ && sums_->sum_some(bytes_moved_)) || is_moving;
            is_moving = pull_inputs() || is_moving;
        }
        if (sums_) {
            sums_->allow();
        }
        if (gathering_) {
            gathering_->allow();
        }
        is_moving = streams_.post(bytes_moved_) || is_moving;
    }
}

bool HierarchicalExchange::has_read_inputs() const noexcept {
    return inputs_pulled_ == input_pulls_.size() && (!sums_ || sums_->has_read_inputs());
}

bool HierarchicalExchange::has_result() const noexcept {
    return streams_.has_arrived() && inputs_pulled_ == input_pulls_.size() && (!sums_ || sums_->has_sums()) &&
           rounds_pulled() == num_rounds();
}

}  // namespace ziggurat::comm
