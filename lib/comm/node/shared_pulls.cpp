/// Parts of a member in the calls of SharedCalls: one row per kind of collective.
#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "comm/call_shape.hpp"
#include "comm/in_pieces.hpp"
#include "comm/node/shared_calls.hpp"

namespace ziggurat::comm {
namespace {

/// Size of the parts into which threads split a large pull.
constexpr std::int64_t piece_bytes = 256 * 1024;

}  // namespace

/// The functions of the table. Each is the part of member `calls_.rank()` in one call.
class SharedCalls::Pulls {
  public:
    Pulls(SharedCalls& calls, const Call& call)
        : calls_{calls},
          call_{call},
          blocks_{call.call.blocks},
          me_{static_cast<std::size_t>(calls.rank())},
          out_{call.call.output + call.call.output_offset_bytes} {}

    static void pack_own_block(const SharedCalls& calls, const Call& call, std::byte* payload) {
        const std::byte* in = call.call.input + call.call.input_offset_bytes;
        copy(calls, payload, in, call.call.blocks[calls.rank()].bytes, Stores::ordinary);
    }

    /// Copies all blocks without the gaps between them.
    static void pack_all_blocks(const SharedCalls& calls, const Call& call, std::byte* payload) {
        const std::byte* in = call.call.input + call.call.input_offset_bytes;
        for (const auto& block : call.call.blocks) {
            copy(calls, payload, in + block.offset_bytes, block.bytes, Stores::ordinary);
            payload += block.bytes;
        }
    }

    static void pack_at_root(const SharedCalls& calls, const Call& call, std::byte* payload) {
        if (calls.rank() == call.call.peer) {
            pack_all_blocks(calls, call, payload);
        }
    }

    void gather() const {
        for_each_member([this](int from, std::size_t m) {
            if (blocks_[m].bytes > 0) {
                copy(calls_, out_ + blocks_[m].offset_bytes, calls_.input_of(call_, from), blocks_[m].bytes,
                     call_.stores);
            }
        });
    }

    void gather_inline() const {
        for (int m = 0; m < calls_.size(); ++m) {
            const Block& block = blocks_[m];
            copy(calls_, out_ + block.offset_bytes, payload(m), block.bytes, Stores::ordinary);
        }
    }

    void transpose() const {
        for_each_member([this](int from, std::size_t m) {
            const Block& pulled = call_.pulls[m];
            if (pulled.bytes > 0) {
                copy(calls_, out_ + call_.call.output_blocks[m].offset_bytes,
                     calls_.input_of(call_, from) + pulled.offset_bytes, pulled.bytes, call_.stores);
            }
        });
    }

    void broadcast() const {
        if (calls_.rank() != call_.call.peer) {
            const Block& sent = blocks_[0];
            copy(calls_, out_ + sent.offset_bytes,
                 calls_.input_of(call_, call_.call.peer) + sent.offset_bytes, sent.bytes, call_.stores);
        }
    }

    void broadcast_inline() const {
        if (calls_.rank() != call_.call.peer) {
            copy(calls_, out_ + blocks_[0].offset_bytes, payload(call_.call.peer), blocks_[0].bytes,
                 Stores::ordinary);
        }
    }

    void scatter_sums() const {
        if (blocks_[me_].bytes > 0) {
            std::byte* to = out_;
            sum_own_block({&to, 1});
        }
    }

    void scatter_sums_inline() const {
        sum_inline(blocks_[me_], bytes_of_all(std::span{blocks_}.first(me_)), out_);
    }

    void reduce() const {
        if (blocks_[me_].bytes == 0) {
            return;  // this member's block of the sum is empty
        }
        for (int m = 0; m < calls_.size(); ++m) {
            std::byte* vector =
                m == calls_.rank()
                    ? out_
                    : calls_.channel_.address(m, calls_.channel_.posted_call(m, call_.operation).output);
            calls_.outputs_[m] = vector + blocks_[me_].offset_bytes;
        }
        sum_own_block(calls_.outputs_);
    }

    void reduce_inline() const {
        std::int64_t offset = 0;
        for (const auto& block : blocks_) {
            sum_inline(block, offset, out_ + block.offset_bytes);
            offset += block.bytes;
        }
    }

    template <void (Pulls::*pull)() const>
    static void run(SharedCalls& calls, const Call& call) {
        (Pulls{calls, call}.*pull)();
    }

  private:
    static void copy(
        const SharedCalls& calls, std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores) {
        if (to != from && bytes > 0) {
            in_pieces(calls.settings_.threads, bytes, piece_bytes, [&](std::int64_t begin, std::int64_t end) {
                copy_shared(to + begin, from + begin, end - begin, stores);
            });
        }
    }

    const std::byte* payload(int member) const { return calls_.channel_.payload(member, call_.operation); }

    /// Begins with this member, so that members read different memory.
    template <class Pull>
    void for_each_member(const Pull& pull) const {
        for (int i = 0; i < calls_.size(); ++i) {
            const int from = (calls_.rank() + i) % calls_.size();
            pull(from, from);
        }
    }

    void sum_own_block(std::span<std::byte* const> outputs) const {
        const Block own = blocks_[me_];
        for (int m = 0; m < calls_.size(); ++m) {
            calls_.inputs_[m] = calls_.input_of(call_, m) + own.offset_bytes;
        }
        const SharedSum sum{.inputs = calls_.inputs_,
                            .outputs = outputs,
                            .type = call_.call.type,
                            .sum_group = call_.call.sum_group,
                            .stores = call_.stores};
        const int unit = element_bytes(call_.call.type);
        in_pieces(calls_.settings_.threads, own.bytes / unit, piece_bytes / unit,
                  [&sum](std::int64_t begin, std::int64_t end) { sum_shared(sum, begin, end); });
    }

    /// Sums one block inside the seats.
    ///
    /// \param offset  of the block in the payload, which has no gaps
    void sum_inline(const Block& block, std::int64_t offset, std::byte* to) const {
        if (block.bytes == 0) {
            return;
        }
        for (int m = 0; m < calls_.size(); ++m) {
            calls_.inputs_[m] = payload(m) + offset;
        }
        sum_shared({.inputs = calls_.inputs_,
                    .outputs = {&to, 1},
                    .type = call_.call.type,
                    .sum_group = call_.call.sum_group},
                   0, block.bytes / element_bytes(call_.call.type));
    }

    SharedCalls& calls_;
    const Call& call_;
    const std::vector<Block>& blocks_;
    std::size_t me_;
    std::byte* out_;
};

const SharedCalls::Part* SharedCalls::part_of(CollectiveKind kind) noexcept {
    struct Row {
        CollectiveKind kind;
        Part part;
    };
    static constexpr std::array rows{
        Row{CollectiveKind::all_gather,
            {.pack = Pulls::pack_own_block,
             .pull_inline = Pulls::run<&Pulls::gather_inline>,
             .pull = Pulls::run<&Pulls::gather>}},
        Row{CollectiveKind::reduce_scatter,
            {.pack = Pulls::pack_all_blocks,
             .pull_inline = Pulls::run<&Pulls::scatter_sums_inline>,
             .pull = Pulls::run<&Pulls::scatter_sums>}},
        Row{CollectiveKind::all_reduce,
            {.pack = Pulls::pack_all_blocks,
             .pull_inline = Pulls::run<&Pulls::reduce_inline>,
             .pull = Pulls::run<&Pulls::reduce>,
             .writes_outputs_of_others = true}},
        Row{CollectiveKind::all_to_all, {.pull = Pulls::run<&Pulls::transpose>}},  // never inside the seats
        Row{CollectiveKind::broadcast,
            {.pack = Pulls::pack_at_root,
             .pull_inline = Pulls::run<&Pulls::broadcast_inline>,
             .pull = Pulls::run<&Pulls::broadcast>}},
    };
    const auto* const row = std::ranges::find(rows, kind, &Row::kind);
    return row == rows.end() ? nullptr : &row->part;
}

}  // namespace ziggurat::comm
