#include "comm/mpi/mpi_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/contract.hpp"
#include "comm/fold.hpp"
#include "comm/mpi/mpi_collectives.hpp"
#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::comm {

/// Adds the streams of one call to an exchange, in one function for each kind.
class MpiExchange::StreamMaker {
  public:
    explicit StreamMaker(MpiExchange& made)
        : made_{made},
          call_{made.call_},
          size_{made.size_},
          rank_{made.rank_},
          in_{call_.input + call_.input_offset_bytes},
          out_{call_.output + call_.output_offset_bytes} {}

    void add_all() {
        switch (call_.kind) {
            case CollectiveKind::all_gather:
                gather();
                break;
            case CollectiveKind::reduce_scatter:
                sum_own_block(out_);
                break;
            case CollectiveKind::all_reduce:
                sum_own_block(out_ + own().offset_bytes);
                send_sums();
                break;
            case CollectiveKind::all_to_all:
                transpose();
                break;
            case CollectiveKind::broadcast:
                broadcast();
                break;
            case CollectiveKind::send:
                send(call_.peer, call_.blocks[0]);
                break;
            case CollectiveKind::receive:
                receive(call_.peer, call_.blocks[0]);
                break;
        }
    }

  private:
    const Block& block(int member) const { return call_.blocks[member]; }
    const Block& own() const { return block(rank_); }
    /// Other members, in an order in which all members send to different members at a time.
    int next(int i) const { return (rank_ + i) % size_; }
    int previous(int i) const { return (rank_ - i + size_) % size_; }

    void send(int to, const Block& sent) {
        made_.streams_.add({.peer = to,
                            .tag = made_.tag_,
                            .is_send = true,
                            .base = MessageStreams::without_const(in_ + sent.offset_bytes),
                            .bytes = sent.bytes,
                            .piece_bytes = direct_piece_bytes,
                            .window = direct_window});
    }

    void receive(int from, const Block& received) {
        made_.streams_.add({.peer = from,
                            .tag = made_.tag_,
                            .base = out_ + received.offset_bytes,
                            .bytes = received.bytes,
                            .piece_bytes = direct_piece_bytes,
                            .window = direct_window});
    }

    void gather() {
        made_.own_copy_ = {in_, out_ + own().offset_bytes, own().bytes};
        for (int i = 1; i < size_; ++i) {
            receive(previous(i), block(previous(i)));
            send(next(i), {0, own().bytes});
        }
    }

    void transpose() {
        const Block& own_output = call_.output_blocks[rank_];
        made_.own_copy_ = {in_ + own().offset_bytes, out_ + own_output.offset_bytes, own().bytes};
        for (int i = 1; i < size_; ++i) {
            receive(previous(i), call_.output_blocks[previous(i)]);
            send(next(i), block(next(i)));
        }
    }

    void broadcast() {
        if (rank_ != call_.peer) {
            receive(call_.peer, call_.blocks[0]);
            return;
        }
        for (int i = 1; i < size_; ++i) {
            send(next(i), call_.blocks[0]);
        }
    }

    /// Adds the streams that send every block to its member, which sums the addends of its block to `to`.
    void sum_own_block(std::byte* to) {
        const std::int64_t piece = layout::MessageStaging::piece_bytes(size_);
        made_.sum_to_ = to;
        made_.own_addend_ = in_ + own().offset_bytes;
        made_.addends_.resize(size_);
        made_.arriving_of_member_.resize(size_);
        for (int i = 1; i < size_; ++i) {
            made_.streams_.add({.peer = next(i),
                                .tag = made_.tag_,
                                .is_send = true,
                                .base = MessageStreams::without_const(in_ + block(next(i)).offset_bytes),
                                .bytes = block(next(i)).bytes,
                                .piece_bytes = piece,
                                .window = direct_window});
        }
        for (int i = 1; i < size_ && own().bytes > 0; ++i) {
            const auto stream =
                made_.streams_.add({.peer = previous(i),
                                    .tag = made_.tag_,
                                    .is_staged = true,
                                    .bytes = own().bytes,
                                    .piece_bytes = piece,
                                    .window = static_cast<int>(layout::MessageStaging::depth)});
            made_.arriving_of_member_[previous(i)] = stream;
            made_.arriving_.push_back(stream);
        }
        made_.pieces_to_sum_ = (own().bytes + piece - 1) / piece;
    }

    /// Adds the streams that send the sum of the own block to all members, and receive the others.
    void send_sums() {
        const std::int64_t piece = layout::MessageStaging::piece_bytes(size_);
        for (int i = 1; i < size_; ++i) {
            made_.departing_sums_.push_back(made_.streams_.add({.peer = next(i),
                                                                .tag = made_.tag_ + 1,
                                                                .is_send = true,
                                                                .base = out_ + own().offset_bytes,
                                                                .bytes = own().bytes,
                                                                .piece_bytes = piece,
                                                                .window = direct_window}));
        }
        for (int i = 1; i < size_; ++i) {
            const int from = previous(i);
            const auto arriving = made_.streams_.add({.peer = from,
                                                      .tag = made_.tag_ + 1,
                                                      .base = out_ + block(from).offset_bytes,
                                                      .bytes = block(from).bytes,
                                                      .piece_bytes = piece,
                                                      .window = direct_window});
            if (in_ == out_) {
                // The stream to `from` sends that member's addend from this memory; `addend` is the index of
                // that stream.
                const std::size_t addend = (from - rank_ + size_) % size_ - 1;
                made_.overwrites_.push_back({arriving, addend});
            }
        }
    }

    MpiExchange& made_;
    const CollectiveCall& call_;
    int size_, rank_;
    const std::byte* in_;
    std::byte* out_;
};

MpiExchange::MpiExchange(CollectiveCall call, int size, int rank, MPI_Comm comm, int tag)
    : call_{std::move(call)}, size_{size}, rank_{rank}, tag_{tag}, streams_{comm} {
    StreamMaker{*this}.add_all();
}

void MpiExchange::start() {
    ZG_EXPECTS(!is_running_);
    is_running_ = true;
    has_staging_ = false;
    summed_ = 0;
    streams_.rewind();
    if (own_copy_.bytes > 0 && own_copy_.from != own_copy_.to) {
        std::memcpy(own_copy_.to, own_copy_.from, own_copy_.bytes);
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
    const std::int64_t piece_bytes = layout::MessageStaging::piece_bytes(size_);
    const std::int64_t own_bytes = pieces_to_sum_ == 0 ? 0 : call_.blocks[rank_].bytes;
    const auto has_arrived = [&](std::size_t s) { return streams_[s].done > summed_; };
    while (summed_ < pieces_to_sum_ && std::all_of(arriving_.begin(), arriving_.end(), has_arrived)) {
        const std::int64_t offset = summed_ * piece_bytes;
        for (int m = 0; m < size_; ++m) {
            const std::size_t member = m;
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
