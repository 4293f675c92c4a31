#include "comm/node/shared_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/call_shape.hpp"
#include "comm/in_pieces.hpp"

namespace ziggurat::comm {
namespace {

/// Size of the parts into which threads split a large pull.
constexpr std::int64_t piece_bytes = 256 * 1024;

}  // namespace

SharedCalls::SharedCalls(ChannelGroup group, PullSettings settings)
    : channel_{std::move(group)},
      settings_{std::move(settings)},
      inputs_(static_cast<std::size_t>(channel_.size())),
      outputs_(static_cast<std::size_t>(channel_.size())) {
    ZG_EXPECTS(settings_.threads >= 1);
    ZG_EXPECTS(settings_.inline_bytes >= 0 && settings_.inline_bytes <= MemberSlot::payload_bytes);
}

bool SharedCalls::is_inline(const CollectiveCall& call) const {
    if (call.kind == CollectiveKind::all_to_all) {
        return false;  // only the sender knows the length of a vector
    }
    const auto longest = std::ranges::max(call.blocks, {}, &Block::bytes).bytes;
    return (is_sum(call.kind) ? bytes_of_all(call.blocks) : longest) <= settings_.inline_bytes;
}

ArenaAddress SharedCalls::arena_address_of(const std::byte* vector, const Block& part) const {
    ArenaAddress arena_address = channel_.arena_address_of(vector + part.offset_bytes, part.bytes);
    arena_address.offset_bytes -= part.bytes > 0 ? part.offset_bytes : 0;
    return arena_address;
}

bool SharedCalls::can_carry(const CollectiveCall& call) const {
    const bool is_read = call.kind != CollectiveKind::broadcast || rank() == call.peer;
    if (size() == 1 || is_inline(call) || !is_read) {
        return true;
    }
    const Block part = part_read_by_others(call, rank());
    return arena_address_of(call.input + call.input_offset_bytes, part).is_shared() &&
           (call.kind != CollectiveKind::all_reduce ||
            arena_address_of(call.output + call.output_offset_bytes, part).is_shared());
}

int SharedCalls::add(CollectiveCall call, std::vector<Block> pulls) {
    ZG_EXPECTS(call.kind != CollectiveKind::send && call.kind != CollectiveKind::receive);
    ZG_EXPECTS(can_carry(call));
    ZG_EXPECTS(call.kind != CollectiveKind::all_to_all || pulls.size() == inputs_.size());
    Call added;
    added.is_inline = is_inline(call);
    const Block part = part_read_by_others(call, rank());
    added.input = arena_address_of(call.input + call.input_offset_bytes, part);
    if (call.kind == CollectiveKind::all_reduce) {
        added.output = arena_address_of(call.output + call.output_offset_bytes, part);
    }
    added.bytes = call.kind == CollectiveKind::all_to_all ? 0 : bytes_of_all(call.blocks);
    added.bytes_per_run = bytes_to_pull(call, pulls, size(), rank());
    added.stores =
        bytes_touched(call, size()) > settings_.cache_bytes ? Stores::non_temporal : Stores::ordinary;
    added.call = std::move(call);
    added.pulls = std::move(pulls);
    calls_.push_back(std::move(added));
    queue_.reserve(calls_.size());
    return static_cast<int>(calls_.size()) - 1;
}

void SharedCalls::start(int call) {
    const bool is_free = is_complete(call);
    ZG_EXPECTS(is_free);
    calls_[static_cast<std::size_t>(call)].state = State::queued;
    queue_.push_back(call);
    progress();
}

bool SharedCalls::progress() {
    for (bool has_moved = false;; has_moved = true) {
        if (num_posted_ < queue_.size() && channel_.can_post()) {
            post(calls_[static_cast<std::size_t>(queue_[num_posted_])]);
            ++num_posted_;
            continue;
        }
        if (num_posted_ == 0) {
            return has_moved;
        }
        Call& oldest = calls_[static_cast<std::size_t>(queue_.front())];
        if (!channel_.all_posted(oldest.operation)) {
            return has_moved;
        }
        check_identical(oldest);
        pull(oldest);
        channel_.finish(oldest.operation);
        oldest.state = State::pulled;
        oldest.bytes_moved += oldest.bytes_per_run;
        queue_.erase(queue_.begin());
        --num_posted_;
    }
}

bool SharedCalls::is_complete(int number) {
    Call& call = calls_.at(static_cast<std::size_t>(number));
    if (call.state == State::pulled && (call.is_inline || channel_.all_done(call.operation))) {
        call.state = State::idle;
    }
    return call.state == State::idle;
}

bool SharedCalls::has_result(int number) {
    // In an all-reduce, others write their blocks to this member's output. In the other kinds, each member
    // writes only its own output.
    const Call& call = calls_.at(static_cast<std::size_t>(number));
    return is_complete(number) ||
           (call.state == State::pulled && call.call.kind != CollectiveKind::all_reduce);
}

void SharedCalls::pack(const Call& call, std::span<std::byte> payload) const {
    const std::byte* in = call.call.input + call.call.input_offset_bytes;
    if (call.call.kind == CollectiveKind::all_gather) {
        copy(payload.data(), in, call.call.blocks[static_cast<std::size_t>(rank())].bytes, Stores::ordinary);
    } else if (is_sum(call.call.kind) || rank() == call.call.peer) {
        std::byte* to = payload.data();
        for (const auto& block : call.call.blocks) {
            copy(to, in + block.offset_bytes, block.bytes, Stores::ordinary);
            to += block.bytes;
        }
    }
}

void SharedCalls::post(Call& call) {
    if (call.is_inline) {
        pack(call, channel_.next_payload());
    }
    call.operation = channel_.post({.call = static_cast<std::uint32_t>(&call - calls_.data()),
                                    .kind = static_cast<std::uint32_t>(call.call.kind),
                                    .type = static_cast<std::uint32_t>(call.call.type),
                                    .bytes = call.bytes,
                                    .input = call.input,
                                    .output = call.output});
    call.state = State::posted;
}

void SharedCalls::check_identical(const Call& call) const {
    const PostedCall& mine = channel_.posted_call(rank(), call.operation);
    for (int m = 0; m < size(); ++m) {
        const PostedCall& other = channel_.posted_call(m, call.operation);
        if (other.call == mine.call && other.kind == mine.kind && other.type == mine.type &&
            other.bytes == mine.bytes) {
            continue;
        }
        const auto describe = [this](const PostedCall& posted) {
            const bool is_known = posted.call < calls_.size();
            return "'" + (is_known ? calls_[posted.call].call.label : "call " + std::to_string(posted.call)) +
                   "' (" + name_of(static_cast<CollectiveKind>(posted.kind)) + ", " +
                   std::to_string(posted.bytes) + " bytes)";
        };
        throw Error{ErrorKind::internal, "operation " + std::to_string(call.operation) + " of " +
                                             settings_.group + " is " + describe(other) + " on member " +
                                             std::to_string(m) + " and " + describe(mine) +
                                             " on this one, member " + std::to_string(rank()) +
                                             ". A bug in ziggurat: please report it with the deck."};
    }
}

void SharedCalls::copy(std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores) const {
    if (to != from && bytes > 0) {
        in_pieces(settings_.threads, bytes, piece_bytes, [&](std::int64_t begin, std::int64_t end) {
            copy_shared(to + begin, from + begin, end - begin, stores);
        });
    }
}

void SharedCalls::pull(const Call& call) {
    const auto me = static_cast<std::size_t>(rank());
    std::byte* out = call.call.output + call.call.output_offset_bytes;
    if (call.is_inline) {
        pull_inline(call);
    } else if (!is_sum(call.call.kind)) {
        pull_blocks(call);
    } else if (call.call.blocks[me].bytes == 0) {
        return;  // this member's block of the sum is empty
    } else if (call.call.kind == CollectiveKind::reduce_scatter) {
        pull_sum(call, {&out, 1});
    } else {
        for (int m = 0; m < size(); ++m) {
            std::byte* vector =
                m == rank() ? out : channel_.address(m, channel_.posted_call(m, call.operation).output);
            outputs_[static_cast<std::size_t>(m)] = vector + call.call.blocks[me].offset_bytes;
        }
        pull_sum(call, outputs_);
    }
}

void SharedCalls::pull_sum(const Call& call, std::span<std::byte* const> outputs) {
    const Block own = call.call.blocks[static_cast<std::size_t>(rank())];
    for (int m = 0; m < size(); ++m) {
        inputs_[static_cast<std::size_t>(m)] = input_of(call, m) + own.offset_bytes;
    }
    const SharedSum sum{.inputs = inputs_,
                        .outputs = outputs,
                        .type = call.call.type,
                        .sum_group = call.call.sum_group,
                        .stores = call.stores};
    const int unit = element_bytes(call.call.type);
    in_pieces(settings_.threads, own.bytes / unit, piece_bytes / unit,
              [&sum](std::int64_t begin, std::int64_t end) { sum_shared(sum, begin, end); });
}

void SharedCalls::pull_blocks(const Call& call) {
    const auto& blocks = call.call.blocks;
    const bool is_transpose = call.call.kind == CollectiveKind::all_to_all;
    std::byte* out = call.call.output + call.call.output_offset_bytes;
    if (call.call.kind == CollectiveKind::broadcast) {
        if (rank() != call.call.peer) {
            copy(out + blocks[0].offset_bytes, input_of(call, call.call.peer) + blocks[0].offset_bytes,
                 blocks[0].bytes, call.stores);
        }
        return;
    }
    for (int i = 0; i < size(); ++i) {  // begins with the own block, so members read different memory
        const int from = (rank() + i) % size();
        const auto m = static_cast<std::size_t>(from);
        if (is_transpose && call.pulls[m].bytes > 0) {
            copy(out + call.call.output_blocks[m].offset_bytes,
                 input_of(call, from) + call.pulls[m].offset_bytes, call.pulls[m].bytes, call.stores);
        } else if (!is_transpose && blocks[m].bytes > 0) {
            copy(out + blocks[m].offset_bytes, input_of(call, from), blocks[m].bytes, call.stores);
        }
    }
}

void SharedCalls::pull_inline(const Call& call) {
    const auto& blocks = call.call.blocks;
    const auto me = static_cast<std::size_t>(rank());
    std::byte* out = call.call.output + call.call.output_offset_bytes;
    const auto payload = [&](int member) { return channel_.payload(member, call.operation); };
    if (call.call.kind == CollectiveKind::broadcast) {
        if (rank() != call.call.peer) {
            copy(out + blocks[0].offset_bytes, payload(call.call.peer), blocks[0].bytes, Stores::ordinary);
        }
        return;
    }
    if (call.call.kind == CollectiveKind::all_gather) {
        for (int m = 0; m < size(); ++m) {
            const Block& block = blocks[static_cast<std::size_t>(m)];
            copy(out + block.offset_bytes, payload(m), block.bytes, Stores::ordinary);
        }
        return;
    }
    std::int64_t offset = 0;  // of a block in the payload, which has no gaps
    for (std::size_t b = 0; b < blocks.size(); offset += blocks[b].bytes, ++b) {
        const bool is_all = call.call.kind == CollectiveKind::all_reduce;
        if (blocks[b].bytes == 0 || (!is_all && b != me)) {
            continue;
        }
        for (int m = 0; m < size(); ++m) {
            inputs_[static_cast<std::size_t>(m)] = payload(m) + offset;
        }
        std::byte* to = is_all ? out + blocks[b].offset_bytes : out;
        sum_shared({.inputs = inputs_,
                    .outputs = {&to, 1},
                    .type = call.call.type,
                    .sum_group = call.call.sum_group},
                   0, blocks[b].bytes / element_bytes(call.call.type));
    }
}

}  // namespace ziggurat::comm
