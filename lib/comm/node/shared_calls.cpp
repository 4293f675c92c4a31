#include "comm/node/shared_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "comm/call_shape.hpp"

namespace ziggurat::comm {

SharedCalls::SharedCalls(ChannelGroup group, PullSettings settings)
    : channel_{std::move(group)},
      settings_{std::move(settings)},
      inputs_(channel_.size()),
      outputs_(channel_.size()) {
    ZG_EXPECTS(settings_.threads >= 1);
    ZG_EXPECTS(settings_.inline_bytes >= 0 && settings_.inline_bytes <= MemberSlot::payload_bytes);
}

bool SharedCalls::is_inline(const CollectiveCall& call) const {
    if (has_output_blocks(call.kind)) {
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
    const Part* const mine = part_of(call.kind);
    if (mine == nullptr) {
        return false;
    }
    const bool is_read = row_of(call.kind).reads != BlockUse::of_peer || rank() == call.peer;
    if (size() == 1 || is_inline(call) || !is_read) {
        return true;
    }
    const Block part = part_read_by_others(call, rank());
    return arena_address_of(call.input + call.input_offset_bytes, part).is_shared() &&
           (!mine->writes_outputs_of_others ||
            arena_address_of(call.output + call.output_offset_bytes, part).is_shared());
}

int SharedCalls::add(CollectiveCall call, std::vector<Block> pulls) {
    ZG_EXPECTS(!is_between_two(call.kind));
    ZG_EXPECTS(can_carry(call));
    ZG_EXPECTS(!has_output_blocks(call.kind) || pulls.size() == inputs_.size());
    Call added;
    added.part = part_of(call.kind);
    added.is_inline = is_inline(call);
    const Block part = part_read_by_others(call, rank());
    added.input = arena_address_of(call.input + call.input_offset_bytes, part);
    if (added.part->writes_outputs_of_others) {
        added.output = arena_address_of(call.output + call.output_offset_bytes, part);
    }
    added.bytes = has_output_blocks(call.kind) ? 0 : bytes_of_all(call.blocks);
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
    calls_[call].state = State::queued;
    queue_.push_back(call);
    progress();
}

bool SharedCalls::progress() {
    for (bool has_moved = false;; has_moved = true) {
        if (num_posted_ < queue_.size() && channel_.can_post()) {
            post(calls_[queue_[num_posted_]]);
            ++num_posted_;
            continue;
        }
        if (num_posted_ == 0) {
            return has_moved;
        }
        Call& oldest = calls_[queue_.front()];
        if (!channel_.all_posted(oldest.operation)) {
            return has_moved;
        }
        check_identical(oldest);
        (oldest.is_inline ? oldest.part->pull_inline : oldest.part->pull)(*this, oldest);
        channel_.finish(oldest.operation);
        oldest.state = State::pulled;
        oldest.bytes_moved += oldest.bytes_per_run;
        queue_.erase(queue_.begin());
        --num_posted_;
    }
}

bool SharedCalls::is_complete(int number) {
    Call& call = calls_.at(number);
    if (call.state == State::pulled && (call.is_inline || channel_.all_done(call.operation))) {
        call.state = State::idle;
    }
    return call.state == State::idle;
}

bool SharedCalls::has_result(int number) {
    // In an all-reduce, others write their blocks to this member's output.
    const Call& call = calls_.at(number);
    return is_complete(number) || (call.state == State::pulled && !call.part->writes_outputs_of_others);
}

void SharedCalls::post(Call& call) {
    if (call.is_inline) {
        call.part->pack(*this, call, channel_.next_payload().data());
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

}  // namespace ziggurat::comm
