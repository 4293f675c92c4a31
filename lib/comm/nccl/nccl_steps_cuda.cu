#include "comm/nccl/nccl_steps_cuda.hpp"

#include <algorithm>
#include <span>

#include "comm/call_shape.hpp"
#include "layout/nccl_sums.hpp"

namespace ziggurat::comm {
namespace {

using Kind = NcclStep::Kind;

std::vector<layout::VectorBlock> as_vector_blocks(std::span<const Block> blocks) {
    std::vector<layout::VectorBlock> made;
    for (const auto& block : blocks) {
        made.push_back({block.offset_bytes, block.bytes});
    }
    return made;
}

/// Builder of the steps of one call.
class StepMaker {
  public:
    StepMaker(const CollectiveCall& call, int size, int rank, const NcclScratch& scratch)
        : call_{call},
          size_{size},
          rank_{rank},
          scratch_{scratch},
          in_{call.input + call.input_offset_bytes},
          out_{call.output + call.output_offset_bytes} {}

    std::vector<NcclStep> make() {
        switch (call_.kind) {
            case CollectiveKind::all_gather:
                gather(in_);
                break;
            case CollectiveKind::reduce_scatter:
                scatter_sums();
                break;
            case CollectiveKind::all_reduce:
                reduce();
                break;
            case CollectiveKind::all_to_all:
                transpose();
                break;
            case CollectiveKind::broadcast:
                broadcast();
                break;
            case CollectiveKind::send:
                add_messages(
                    {{call_.peer, in_ + call_.blocks[0].offset_bytes, nullptr, call_.blocks[0].bytes}});
                break;
            case CollectiveKind::receive:
                add_messages(
                    {{call_.peer, nullptr, out_ + call_.blocks[0].offset_bytes, call_.blocks[0].bytes}});
                break;
        }
        return std::move(steps_);
    }

  private:
    const Block& block(int member) const { return call_.blocks[member]; }
    const Block& own() const { return block(rank_); }
    std::int64_t others() const { return size_ - 1; }

    void add_messages(std::vector<NcclMessage> messages) {
        std::erase_if(messages, [](const NcclMessage& message) { return message.bytes == 0; });
        if (messages.empty()) {
            return;
        }
        NcclStep step{.kind = Kind::messages};
        for (const auto& message : messages) {
            step.bytes_moved += message.from != nullptr ? message.bytes : 0;
        }
        step.messages = std::move(messages);
        steps_.push_back(std::move(step));
    }

    void copy(const std::byte* from, std::byte* to, std::int64_t bytes) {
        if (bytes > 0 && from != to) {
            steps_.push_back({.kind = Kind::copy, .from = from, .to = to, .bytes = bytes});
        }
    }

    /// Adds steps that gather all blocks of the output; this member's block is at `mine`.
    void gather(const std::byte* mine) {
        if (size_ > 1 && layout::are_one_vector(as_vector_blocks(call_.blocks))) {
            steps_.push_back({.kind = Kind::all_gather,
                              .from = mine,
                              .to = out_ + block(0).offset_bytes,
                              .bytes = own().bytes,
                              .bytes_moved = others() * own().bytes});
            return;
        }
        copy(mine, out_ + own().offset_bytes, own().bytes);
        std::vector<NcclMessage> messages;
        for (int m = 0; m < size_; ++m) {
            if (m != rank_) {
                messages.push_back({m, mine, nullptr, own().bytes});
                messages.push_back({m, nullptr, out_ + block(m).offset_bytes, block(m).bytes});
            }
        }
        add_messages(std::move(messages));
    }

    /// Adds steps that sum this member's block to `to`, in pieces.
    ///
    /// The addends of one piece fit together into the scratch.
    void sum_own_block(std::byte* to) {
        const auto piece = scratch_.piece_bytes(size_);
        const auto longest = std::ranges::max(call_.blocks, {}, &Block::bytes).bytes;
        for (std::int64_t begin = 0; begin < longest; begin += piece) {
            const auto part = [&](int m) {
                return std::clamp<std::int64_t>(block(m).bytes - begin, 0, piece);
            };
            std::vector<NcclMessage> messages;
            auto* at = scratch_.data;
            for (int m = 0; m < size_; ++m) {
                if (m != rank_) {
                    messages.push_back({m, in_ + block(m).offset_bytes + begin, nullptr, part(m)});
                    messages.push_back({m, nullptr, at, part(rank_)});
                    at += piece;
                }
            }
            add_messages(std::move(messages));
            if (part(rank_) > 0) {
                steps_.push_back({.kind = Kind::sum,
                                  .from = in_ + own().offset_bytes + begin,
                                  .to = to + begin,
                                  .bytes = part(rank_)});
            }
        }
    }

    void scatter_sums() {
        if (size_ == 1) {
            copy(in_ + own().offset_bytes, out_, own().bytes);
        } else if (needs_scratch(call_)) {
            sum_own_block(out_);
        } else {
            steps_.push_back({.kind = Kind::reduce_scatter,
                              .from = in_ + block(0).offset_bytes,
                              .to = out_,
                              .bytes = own().bytes,
                              .bytes_moved = others() * own().bytes});
        }
    }

    void reduce() {
        if (size_ == 1) {
            copy(in_ + own().offset_bytes, out_ + own().offset_bytes, own().bytes);
        } else if (needs_scratch(call_)) {
            sum_own_block(out_ + own().offset_bytes);
            gather(out_ + own().offset_bytes);
        } else {
            steps_.push_back({.kind = Kind::all_reduce,
                              .from = in_ + block(0).offset_bytes,
                              .to = out_ + block(0).offset_bytes,
                              .bytes = bytes_of_all(call_.blocks),
                              .bytes_moved = 2 * others() * own().bytes});
        }
    }

    void transpose() {
        const std::size_t me = rank_;
        copy(in_ + own().offset_bytes, out_ + call_.output_blocks[me].offset_bytes, own().bytes);
        std::vector<NcclMessage> messages;
        for (int m = 0; m < size_; ++m) {
            const auto& comes = call_.output_blocks[m];
            if (m != rank_) {
                messages.push_back({m, in_ + block(m).offset_bytes, nullptr, block(m).bytes});
                messages.push_back({m, nullptr, out_ + comes.offset_bytes, comes.bytes});
            }
        }
        add_messages(std::move(messages));
    }

    /// Adds a broadcast. It is a ring from the root: every member except the last sends the data on.
    void broadcast() {
        const auto& sent = call_.blocks[0];
        if (size_ == 1 || sent.bytes == 0) {
            return;
        }
        const bool is_root = call_.peer == rank_;
        auto* const root_has = const_cast<std::byte*>(in_) + sent.offset_bytes;
        auto* const at = is_root ? root_has : out_ + sent.offset_bytes;
        const bool is_last = (rank_ + 1) % size_ == call_.peer;
        steps_.push_back({.kind = Kind::broadcast,
                          .from = at,
                          .to = at,
                          .bytes = sent.bytes,
                          .root = call_.peer,
                          .bytes_moved = is_last ? 0 : sent.bytes});
    }

    const CollectiveCall& call_;
    int size_, rank_;
    NcclScratch scratch_;
    const std::byte* in_;
    std::byte* out_;
    std::vector<NcclStep> steps_;
};

}  // namespace

std::int64_t NcclScratch::piece_bytes(int size) const noexcept {
    constexpr std::int64_t line_bytes = 256;
    return bytes / (size - 1) / line_bytes * line_bytes;
}

bool needs_scratch(const CollectiveCall& call) {
    return is_sum(call.kind) && layout::is_summed_in_pieces(call.type, as_vector_blocks(call.blocks));
}

std::vector<NcclStep> steps_of(const CollectiveCall& call, int size, int rank, const NcclScratch& scratch) {
    return StepMaker{call, size, rank, scratch}.make();
}

}  // namespace ziggurat::comm
