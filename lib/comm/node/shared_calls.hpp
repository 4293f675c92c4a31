/// Calls of one group over its seats: posted early, pulled late.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/node/seat_channel.hpp"
#include "comm/node/shared_sum.hpp"

namespace ziggurat::comm {

/// Settings of how calls are carried out. Those that change no bits may differ between members.
struct PullSettings {
    int threads = 1;                   ///< of this rank, for large pulls
    std::int64_t inline_bytes = 1024;  ///< vectors up to this travel inside the seats; alike on all members
    std::int64_t cache_bytes = last_level_cache_bytes();  ///< calls that touch more store past the caches
    std::string group = "group";                          ///< for messages
};

/// All kinds but send and receive, for members that see each other's memory. Calls no MPI; allocates only in
/// add(). Ranks may be processes or threads.
///
/// start() posts a call as soon as the ring has room; progress() does this member's part of the oldest call
/// once everybody has posted it: that needs nobody else's help. Small vectors travel inside the seats, in one
/// phase: each member copies its own into its seat, and all members read and sum all of them.
class SharedCalls {
  public:
    SharedCalls(SeatGroup group, PullSettings settings);

    /// True if this member's memory is where `call` needs it to be: a vector that travels inside the seats
    /// may lie anywhere, others read and write the rest. Makes sense only if all members say true.
    bool can_carry(const CollectiveCall& call) const;

    /// Gives the call's number, the same on all members.
    ///
    /// \param pulls  all_to_all: by member m, which block of m's input is for this member
    int add(CollectiveCall call, std::vector<Block> pulls = {});

    /// The call must not be running.
    void start(int call);
    /// Posts and pulls what can be; false if nothing could.
    ///
    /// Errors: Error{internal} when another member runs a different call
    bool progress();
    /// The inputs may be overwritten, and has_result().
    bool is_complete(int call);
    bool has_result(int call);

    /// All executions so far: what this member read from and wrote to other members' memory. A sum inside the
    /// seats, which everybody forms, counts like the one in two phases that it stands for.
    std::int64_t bytes_moved(int call) const { return calls_.at(static_cast<std::size_t>(call)).bytes_moved; }

    int size() const noexcept { return channel_.size(); }
    int rank() const noexcept { return channel_.me(); }

  private:
    enum class State { idle, queued, posted, pulled };

    struct Call {
        CollectiveCall call;
        std::vector<Block> pulls;
        SharedPlace input;
        SharedPlace output;
        std::int64_t bytes = 0;  ///< of the vector
        std::int64_t bytes_per_run = 0;
        std::int64_t bytes_moved = 0;
        bool is_inline = false;
        Stores stores = Stores::ordinary;
        State state = State::idle;
        SeatChannel::Operation operation = 0;
    };

    bool is_inline(const CollectiveCall& call) const;
    SharedPlace place_of(const std::byte* vector, const Block& part) const;

    void post(Call& call);
    void pack(const Call& call, std::span<std::byte> payload) const;
    void check_alike(const Call& call) const;
    void pull(const Call& call);
    void pull_inline(const Call& call);
    void pull_sum(const Call& call, std::span<std::byte* const> outputs);
    void pull_blocks(const Call& call);
    void copy(std::byte* to, const std::byte* from, std::int64_t bytes, Stores stores) const;

    const std::byte* input_of(const Call& call, int member) const {
        if (member == rank()) {
            return call.call.input + call.call.input_offset_bytes;  // shared or not
        }
        return channel_.address(member, channel_.posted_call(member, call.operation).input);
    }

    SeatChannel channel_;
    PullSettings settings_;
    std::vector<Call> calls_;
    std::vector<int> queue_;      ///< started and not yet pulled, in the order of starts
    std::size_t num_posted_ = 0;  ///< of queue_, from its front
    std::vector<const std::byte*> inputs_;
    std::vector<std::byte*> outputs_;
};

}  // namespace ziggurat::comm
