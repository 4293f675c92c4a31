#include "comm/hierarchical/hierarchical_exchange.hpp"

#include <utility>

#include "base/contract.hpp"

namespace ziggurat::comm {

/// Adds the parts of one call to an exchange, in one function for each kind.
class HierarchicalExchange::PartMaker {
  public:
    explicit PartMaker(HierarchicalExchange& made)
        : made_{made}, task_{made.task_}, call_{task_.call}, size_{task_.plan->size()}, rank_{task_.rank} {}

    void add_all() {
        switch (call_.kind) {
            case CollectiveKind::reduce_scatter:
                made_.sums_.emplace(task_, task_.out(), made_.streams_);
                break;
            case CollectiveKind::all_reduce:
                reduce();
                break;
            case CollectiveKind::all_gather:
                made_.own_copy_ = {task_.in(), task_.out() + own().offset_bytes, own().bytes};
                gather(call_.blocks, task_.in());
                break;
            case CollectiveKind::broadcast:
                broadcast();
                break;
            case CollectiveKind::all_to_all:
                transpose();
                break;
            case CollectiveKind::send:
            case CollectiveKind::receive:
                ZG_EXPECTS(false && "send and receive are not collectives of the group");
        }
    }

  private:
    const Block& own() const { return task_.block_of(rank_); }

    void reduce() {
        std::byte* sum = task_.out() + own().offset_bytes;
        made_.sums_.emplace(task_, sum, made_.streams_);
        made_.gathering_.emplace(task_, sum, call_.blocks, &*made_.sums_, made_.streams_);
    }

    void broadcast() {
        std::vector<Block> blocks(size_);
        blocks[call_.peer] = call_.blocks.front();
        gather(blocks, task_.in() + call_.blocks.front().offset_bytes);
    }

    void gather(const std::vector<Block>& blocks, const std::byte* mine) {
        made_.gathering_.emplace(task_, mine, blocks, nullptr, made_.streams_);
        for (const int neighbour : task_.neighbours()) {
            const Block& block = blocks[neighbour];
            if (neighbour != rank_ && block.bytes > 0) {
                made_.input_pulls_.push_back(
                    {task_.input_of(neighbour), task_.out() + block.offset_bytes, block.bytes});
            }
        }
    }

    void transpose() {
        const Block& own_output = call_.output_blocks[rank_];
        made_.own_copy_ = {task_.in() + own().offset_bytes, task_.out() + own_output.offset_bytes,
                           own().bytes};
        for (int i = 1; i < size_; ++i) {
            const int from = (rank_ - i + size_) % size_;
            const int to = (rank_ + i) % size_;
            const Block& arrives = call_.output_blocks[from];
            const Block& leaves = task_.block_of(to);
            if (task_.is_neighbour(from) && arrives.bytes > 0) {
                made_.input_pulls_.push_back(
                    {task_.input_of(from) + task_.vectors.offsets_for_me[task_.index_of(from)],
                     task_.out() + arrives.offset_bytes, arrives.bytes});
            } else if (!task_.is_neighbour(from)) {
                made_.streams_.add({.peer = from,
                                    .tag = task_.tag,
                                    .base = task_.out() + arrives.offset_bytes,
                                    .bytes = arrives.bytes,
                                    .piece_bytes = direct_piece_bytes,
                                    .window = direct_window});
            }
            if (!task_.is_neighbour(to)) {
                made_.streams_.add({.peer = to,
                                    .tag = task_.tag,
                                    .is_send = true,
                                    .base = MessageStreams::without_const(task_.in() + leaves.offset_bytes),
                                    .bytes = leaves.bytes,
                                    .piece_bytes = direct_piece_bytes,
                                    .window = direct_window});
            }
        }
    }

    HierarchicalExchange& made_;
    const HierarchicalTask& task_;
    const CollectiveCall& call_;
    int size_, rank_;
};

HierarchicalExchange::HierarchicalExchange(HierarchicalTask task, MPI_Comm comm)
    : task_{std::move(task)}, streams_{comm} {
    PartMaker{*this}.add_all();
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
