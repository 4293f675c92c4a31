#include "comm/mpi/mpi_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/contract.hpp"
#include "comm/fold.hpp"
#include "comm/mpi/mpi_collectives.hpp"

namespace ziggurat::comm {

MpiExchange::MpiExchange(CollectiveCall call, int size, int rank, MPI_Comm comm, int tag)
    : call_{std::move(call)}, size_{size}, rank_{rank}, tag_{tag}, streams_{comm} {
    const std::byte* in = call_.input + call_.input_offset_bytes;
    std::byte* out = call_.output + call_.output_offset_bytes;
    switch (call_.kind) {
        case CollectiveKind::reduce_scatter:
            add_blocks_to_sum(in);
            sum_to_ = out;
            break;
        case CollectiveKind::all_reduce:
            add_blocks_to_sum(in);
            sum_to_ = out + call_.blocks[static_cast<std::size_t>(rank)].offset_bytes;
            add_sums(out, in == out);
            break;
        default:
            add_direct(in, out);
    }
}

void MpiExchange::add_blocks_to_sum(const std::byte* in) {
    const std::int64_t piece = MpiStaging::piece_bytes(size_);
    const Block own = call_.blocks[static_cast<std::size_t>(rank_)];
    own_addend_ = in + own.offset_bytes;
    addends_.resize(static_cast<std::size_t>(size_));
    arriving_of_member_.resize(static_cast<std::size_t>(size_));
    for (int i = 1; i < size_; ++i) {
        const int to = (rank_ + i) % size_;
        const Block block = call_.blocks[static_cast<std::size_t>(to)];
        streams_.add({.peer = to,
                      .tag = tag_,
                      .is_send = true,
                      .base = MessageStreams::without_const(in + block.offset_bytes),
                      .bytes = block.bytes,
                      .piece_bytes = piece,
                      .window = direct_window});
    }
    for (int i = 1; i < size_ && own.bytes > 0; ++i) {
        const int from = (rank_ - i + size_) % size_;
        const auto stream = streams_.add({.peer = from,
                                          .tag = tag_,
                                          .is_staged = true,
                                          .bytes = own.bytes,
                                          .piece_bytes = piece,
                                          .window = static_cast<int>(MpiStaging::depth)});
        arriving_of_member_[static_cast<std::size_t>(from)] = stream;
        arriving_.push_back(stream);
    }
    pieces_to_sum_ = (own.bytes + piece - 1) / piece;
}

void MpiExchange::add_sums(std::byte* out, bool is_in_place) {
    const std::int64_t piece = MpiStaging::piece_bytes(size_);
    const Block own = call_.blocks[static_cast<std::size_t>(rank_)];
    for (int i = 1; i < size_; ++i) {
        const int to = (rank_ + i) % size_;
        departing_sums_.push_back(streams_.add({.peer = to,
                                                .tag = tag_ + 1,
                                                .is_send = true,
                                                .base = out + own.offset_bytes,
                                                .bytes = own.bytes,
                                                .piece_bytes = piece,
                                                .window = direct_window}));
    }
    for (int i = 1; i < size_; ++i) {
        const int from = (rank_ - i + size_) % size_;
        const Block block = call_.blocks[static_cast<std::size_t>(from)];
        const auto receive = streams_.add({.peer = from,
                                           .tag = tag_ + 1,
                                           .base = out + block.offset_bytes,
                                           .bytes = block.bytes,
                                           .piece_bytes = piece,
                                           .window = direct_window});
        if (is_in_place) {
            // The stream to `from` sends that member's addend from this memory; `send` is the index of that
            // stream.
            const auto send = static_cast<std::size_t>((from - rank_ + size_) % size_ - 1);
            overwrites_.push_back({receive, send});
        }
    }
}

void MpiExchange::add_direct(const std::byte* in, std::byte* out) {
    const auto send = [&](int to, const Block& block) {
        streams_.add({.peer = to,
                      .tag = tag_,
                      .is_send = true,
                      .base = MessageStreams::without_const(in + block.offset_bytes),
                      .bytes = block.bytes,
                      .piece_bytes = direct_piece_bytes,
                      .window = direct_window});
    };
    const auto receive = [&](int from, const Block& block) {
        streams_.add({.peer = from,
                      .tag = tag_,
                      .base = out + block.offset_bytes,
                      .bytes = block.bytes,
                      .piece_bytes = direct_piece_bytes,
                      .window = direct_window});
    };
    const auto own = static_cast<std::size_t>(rank_);
    switch (call_.kind) {
        case CollectiveKind::send:
            return send(call_.peer, call_.blocks[0]);
        case CollectiveKind::receive:
            return receive(call_.peer, call_.blocks[0]);
        case CollectiveKind::broadcast:
            if (rank_ != call_.peer) {
                return receive(call_.peer, call_.blocks[0]);
            }
            for (int i = 1; i < size_; ++i) {
                send((rank_ + i) % size_, call_.blocks[0]);
            }
            return;
        case CollectiveKind::all_gather:
            own_copy_ = {in, out + call_.blocks[own].offset_bytes, call_.blocks[own].bytes};
            for (int i = 1; i < size_; ++i) {
                const int from = (rank_ - i + size_) % size_;
                receive(from, call_.blocks[static_cast<std::size_t>(from)]);
                send((rank_ + i) % size_, {0, call_.blocks[own].bytes});
            }
            return;
        case CollectiveKind::all_to_all:
            own_copy_ = {in + call_.blocks[own].offset_bytes, out + call_.output_blocks[own].offset_bytes,
                         call_.blocks[own].bytes};
            for (int i = 1; i < size_; ++i) {
                const int from = (rank_ - i + size_) % size_;
                const int to = (rank_ + i) % size_;
                receive(from, call_.output_blocks[static_cast<std::size_t>(from)]);
                send(to, call_.blocks[static_cast<std::size_t>(to)]);
            }
            return;
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_reduce:
            break;
    }
    ZG_EXPECTS(false && "sums have streams of their own");
}

void MpiExchange::start() {
    ZG_EXPECTS(!is_running_);
    is_running_ = true;
    has_staging_ = false;
    summed_ = 0;
    streams_.rewind();
    if (own_copy_.bytes > 0 && own_copy_.from != own_copy_.to) {
        std::memcpy(own_copy_.to, own_copy_.from, static_cast<std::size_t>(own_copy_.bytes));
    }
    allow();
}

void MpiExchange::stage_at(std::byte* area) {
    for (const auto s : arriving_) {
        streams_[s].base = area;
        area += streams_[s].window * streams_[s].piece_bytes;
    }
    has_staging_ = true;
    allow();
}

bool MpiExchange::has_result() const noexcept {
    return !is_running_ || (summed_ == pieces_to_sum_ && streams_.has_arrived());
}

bool MpiExchange::sum_arrived() {
    const std::int64_t before = summed_;
    const std::int64_t piece_bytes = MpiStaging::piece_bytes(size_);
    const std::int64_t own_bytes =
        pieces_to_sum_ == 0 ? 0 : call_.blocks[static_cast<std::size_t>(rank_)].bytes;
    const auto has_arrived = [&](std::size_t s) { return streams_[s].done > summed_; };
    while (summed_ < pieces_to_sum_ && std::all_of(arriving_.begin(), arriving_.end(), has_arrived)) {
        const std::int64_t offset = summed_ * piece_bytes;
        for (int m = 0; m < size_; ++m) {
            const auto member = static_cast<std::size_t>(m);
            if (m == rank_) {
                addends_[member] = own_addend_ + offset;
            } else {
                addends_[member] = streams_[arriving_of_member_[member]].at(summed_);
            }
        }
        fold(addends_, sum_to_ + offset,
             std::min(piece_bytes, own_bytes - offset) / element_bytes(call_.type), call_.type,
             call_.sum_group);
        ++summed_;
    }
    return summed_ != before;
}

void MpiExchange::allow() {
    for (const auto s : arriving_) {
        streams_[s].allowed = has_staging_ ? summed_ + streams_[s].window : 0;
    }
    for (const auto s : departing_sums_) {
        streams_[s].allowed = summed_;
    }
    for (const auto& [receive, send] : overwrites_) {
        streams_[receive].allowed = streams_[send].done;
    }
}

bool MpiExchange::progress(std::int64_t& bytes_sent) {
    for (bool is_moving = true; is_moving;) {
        is_moving = streams_.collect();
        is_moving = sum_arrived() || is_moving;
        allow();
        is_moving = streams_.post(bytes_sent) || is_moving;
    }
    is_running_ = summed_ < pieces_to_sum_ || !streams_.is_complete();
    return !is_running_;
}

}  // namespace ziggurat::comm
