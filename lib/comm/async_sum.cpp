#include "comm/async_sum.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "comm/check_mpi.hpp"
#include "comm/node/node_memory.hpp"

namespace ziggurat::comm {

AsyncSum::AsyncSum(const Communicator& group, int num_words, NodeMemory* node, int num_maxima)
    : group_{group.duplicate()},
      node_{node},
      words_(num_words),
      num_sums_{static_cast<std::size_t>(num_words - num_maxima)} {
    ZG_EXPECTS(0 <= num_maxima && num_maxima <= num_words);
    // These values are the same on all members.
    const bool fits =
        static_cast<std::int64_t>(words_.size() * sizeof(std::int64_t)) <= MemberSlot::payload_bytes;
    if (node != nullptr && node->is_shared() && fits && node->is_on_this_node(group_)) {
        if (auto seats = node->make_seats(group_)) {
            seats_.emplace(std::move(seats->seats));
        }
    }
}

AsyncSum::~AsyncSum() {
    for (auto& request : requests_) {
        if (request != MPI_REQUEST_NULL) {
            MPI_Request_free(&request);  // only when an error destroys this object: no call waits for it
        }
    }
}

void AsyncSum::start() {
    ZG_EXPECTS(!is_running_);
    is_running_ = true;
    if (seats_) {
        is_posted_ = false;
        return;
    }
    if (node_ != nullptr) {
        node_->polling_started();
    }
    const auto num_maxima = words_.size() - num_sums_;
    ZG_MPI(MPI_Iallreduce(MPI_IN_PLACE, words_.data(), static_cast<int>(num_sums_), MPI_INT64_T, MPI_SUM,
                          group_.native(), &requests_[0]));
    if (num_maxima > 0) {
        ZG_MPI(MPI_Iallreduce(MPI_IN_PLACE, words_.data() + num_sums_, static_cast<int>(num_maxima),
                              MPI_INT64_T, MPI_MAX, group_.native(), &requests_[1]));
    }
}

bool AsyncSum::poll() {
    if (is_running_ && (seats_ ? poll_seats() : poll_mpi())) {
        is_running_ = false;
    }
    return !is_running_;
}

bool AsyncSum::poll_seats() {
    if (!is_posted_) {
        if (!seats_->can_post()) {
            return false;
        }
        const auto payload = std::as_bytes(std::span{words_});
        operation_ = seats_->post({.bytes = std::ssize(payload)}, payload);
        is_posted_ = true;
    }
    if (!seats_->all_posted(operation_)) {
        return false;
    }
    for (int member = 0; member < seats_->size(); ++member) {
        if (member == seats_->me()) {
            continue;
        }
        const std::byte* theirs = seats_->payload(member, operation_);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            std::int64_t word = 0;
            std::memcpy(&word, theirs, sizeof word);
            theirs += sizeof word;
            words_[i] = i < num_sums_ ? static_cast<std::int64_t>(static_cast<std::uint64_t>(words_[i]) +
                                                                  static_cast<std::uint64_t>(word))
                                      : std::max(words_[i], word);
        }
    }
    seats_->finish(operation_);
    return true;
}

bool AsyncSum::poll_mpi() {
    int done = 0;
    ZG_MPI(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE));
    if (done != 0 && node_ != nullptr) {
        node_->polling_ended();
    }
    return done != 0;
}

}  // namespace ziggurat::comm
