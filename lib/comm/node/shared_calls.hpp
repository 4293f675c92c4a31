/// SharedCalls: calls of one group over its seats: posted early, pulled late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/collectives.hpp"
#include "comm/node/shared_channel.hpp"
#include "comm/node/shared_sum.hpp"

namespace ziggurat::comm {

/// Settings for the execution of calls. Those that do not affect bits may differ between members.
struct PullSettings {
    int threads = 1;  ///< of this rank, for large pulls
    /// Maximum size of vectors stored inside the seats; equal on all members.
    std::int64_t inline_bytes = 1024;
    std::int64_t cache_bytes = last_level_cache_bytes();  ///< calls that touch more use non-temporal stores
    std::string group = "group";                          ///< for messages
};

/// Calls of all kinds except send and receive, for members that can access each other's memory.
///
/// It does not call MPI, and allocates only in add(). Members may be processes or threads.
///
/// start() posts a call as soon as the ring has a free slot. progress() does this member's part of the oldest
/// call when all members have posted it. That does not depend on further progress of the others. Small
/// vectors are stored inside the seats, in one phase: each member copies its own vector into its seat. All
/// members read and sum all of them.
class SharedCalls {
  public:
    SharedCalls(ChannelGroup group, PullSettings settings);

    /// True if this member's memory is accessible for `call`.
    ///
    /// The call can run only if this is true on all members.
    ///
    /// A vector stored inside the seats may be anywhere; other vectors must be in shared arenas.
    bool can_carry(const CollectiveCall& call) const;

    /// Adds a call and returns its number, which is the same on all members.
    ///
    /// \param pulls  all_to_all: for each member m, the block of m's input for this member
    int add(CollectiveCall call, std::vector<Block> pulls = {});

    /// Starts a call, which must not be running.
    void start(int call);
    /// Posts and pulls as far as possible; returns false if nothing changed.
    ///
    /// Errors: Error{internal} if another member runs a different call
    bool progress();
    /// True if has_result(), and the inputs may be overwritten.
    bool is_complete(int call);
    bool has_result(int call);

    /// Returns the bytes that this member read from and wrote to others' memory, over all executions.
    ///
    /// A sum inside the seats, which every member computes, counts like the equivalent sum in two phases.
    std::int64_t bytes_moved(int call) const { return calls_.at(call).bytes_moved; }

    int size() const noexcept { return channel_.size(); }
    int rank() const noexcept { return channel_.me(); }

  private:
    enum class State { idle, queued, posted, pulled };

    struct Call;

    /// This member's part of the calls of one kind: a row of the table in shared_pulls.cpp.
    struct Part {
        /// Copies this member's vector into its seat.
        void (*pack)(const SharedCalls& calls, const Call& call, std::byte* payload) = nullptr;
        /// Computes this member's output from the vectors inside all seats.
        void (*pull_inline)(SharedCalls& calls, const Call& call) = nullptr;
        /// Reads the inputs of other members in their memory.
        void (*pull)(SharedCalls& calls, const Call& call) = nullptr;
        bool writes_outputs_of_others = false;  ///< pull() also writes to the memory of other members
    };
    class Pulls;

    /// Returns the part of a kind; nullptr if calls of this kind cannot run here.
    static const Part* part_of(CollectiveKind kind) noexcept;

    struct Call {
        CollectiveCall call;
        const Part* part = nullptr;
        std::vector<Block> pulls;
        ArenaAddress input;
        ArenaAddress output;
        std::int64_t bytes = 0;  ///< of the vector
        std::int64_t bytes_per_run = 0;
        std::int64_t bytes_moved = 0;
        bool is_inline = false;
        Stores stores = Stores::ordinary;
        State state = State::idle;
        SharedChannel::Operation operation = 0;
    };

    bool is_inline(const CollectiveCall& call) const;
    ArenaAddress arena_address_of(const std::byte* vector, const Block& part) const;

    void post(Call& call);
    void check_identical(const Call& call) const;

    const std::byte* input_of(const Call& call, int member) const {
        if (member == rank()) {
            return call.call.input + call.call.input_offset_bytes;  // shared or not
        }
        return channel_.address(member, channel_.posted_call(member, call.operation).input);
    }

    SharedChannel channel_;
    PullSettings settings_;
    std::vector<Call> calls_;
    std::vector<int> queue_;      ///< started and not yet pulled, in the order of starts
    std::size_t num_posted_ = 0;  ///< number of posted calls, at the front of queue_
    std::vector<const std::byte*> inputs_;
    std::vector<std::byte*> outputs_;
};

}  // namespace ziggurat::comm
