/// Collectives: interface for the executor; calls are described once, then started and polled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/collective_kinds.hpp"
#include "spec/dtype.hpp"

namespace ziggurat::device {
class Stream;
}

namespace ziggurat::comm {

class NodeMemory;
class WaitContext;

/// Part of a vector; may be empty. For sums, both numbers are multiples of the element size.
struct Block {
    std::int64_t offset_bytes = 0;
    std::int64_t bytes = 0;

    std::int64_t end() const noexcept { return offset_bytes + bytes; }
    bool operator==(const Block&) const = default;
};

// clang-format off
/// One call, described once at assembly and executed in each step.
///
/// This member's vectors begin at `in` = `input` + `input_offset_bytes` and `out` = `output` +
/// `output_offset_bytes`. Block m belongs to member m. On member r, each kind reads and writes:
///
///     all_gather      reads [in, in + |block r|), writes block m of `out` with the bytes that member m read
///     reduce_scatter  reads all blocks of `in`, writes [out, out + |block r|): the sum of block r over members
///     all_reduce      reads all blocks of `in`, writes all blocks of `out`; member m sums block m
///     all_to_all      reads block m of `in`, for member m; writes output block m of `out`, from member m
///     broadcast       reads blocks[0] of `in` on member `peer`, writes blocks[0] of `out` on the others
///     send            reads blocks[0] of `in`
///     receive         writes blocks[0] of `out`
///
/// In place: reduce_scatter with output = input, output_offset = blocks[r].offset + input_offset;
/// all_gather with input = output, input_offset = blocks[r].offset + output_offset.
///
/// Aliasing: input and output do not overlap, or are in place: all_gather and reduce_scatter as above,
///           all_reduce with in = out; always allowed for broadcast, never for all_to_all.
// clang-format on
struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::all_reduce;
    spec::DType type = spec::DType::f32;  ///< of the elements that are summed; informational for other kinds
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::int64_t input_offset_bytes = 0;
    std::int64_t output_offset_bytes = 0;
    std::vector<Block> blocks = {};         ///< one per member; one in total for broadcast, send, receive
    std::vector<Block> output_blocks = {};  ///< all_to_all: blocks of `out`, one per sending member
    int peer = -1;
    int tag = 0;             ///< send, receive: distinguishes messages of the same pair, >= 0
    int sum_group = 0;       ///< members summed together before groups are; 0: all (flat)
    std::string label = {};  ///< for messages
};

/// Throws `Error{internal}` that names the call and its first defect.
void check_call(const CollectiveCall& call, int size, int rank);

/// Collective operations of one group of ranks. Used by one thread.
///
/// Numerics: sums are left folds in fp32, over the members of each range of `sum_group` in their order, then
///           over the ranges in theirs; rounded once to `type`. Independent of timing and implementation.
class Collectives {
  public:
    virtual ~Collectives() = default;

    /// Prepares a call and returns its number. Reserves all memory that the call needs.
    ///
    /// Collective: over the group, in the same order on all members; send and receive are local
    /// Errors:     Error{internal} on all members if they do not describe the same call
    virtual int prepare(CollectiveCall call) = 0;

    /// Starts a call whose inputs are ready. Never waits. The call must not be running.
    ///
    /// Collective: the members of a group start its calls in the same order; the order between groups is free
    virtual void start(int call) = 0;

    /// Makes progress on all running calls of the group.
    ///
    /// Returns true when the result of `call` is complete and its inputs may be overwritten, or if `call`
    /// does not run.
    virtual bool poll(int call) = 0;

    /// Makes progress. Returns true when the outputs may be read, even if others may still read the inputs.
    ///
    /// It is true no later than poll(), and earlier if members read each other's memory.
    virtual bool has_result(int call) { return poll(call); }

    /// Returns the stream that runs `call`; nullptr if the calling thread runs it, in poll().
    ///
    /// Such a call may be started before its inputs are ready: the caller first makes the stream wait for
    /// them.
    virtual const device::Stream* stream_of(int /*call*/) const { return nullptr; }
    /// Makes progress. Returns true when all work of a started call is on its stream.
    ///
    /// Only then may other work be put on the stream. \pre stream_of(call) != nullptr
    virtual bool is_enqueued(int /*call*/) { return true; }
    /// Ends the running calls of streams without their results. Other members are not notified.
    ///
    /// No other call may be started afterwards.
    virtual void abort() noexcept {}

    /// Returns the bytes that all executions of `call` so far have moved between this member and others.
    ///
    /// The member that copies them counts them: with messages the sender, with shared memory the member that
    /// reads or writes others' memory. With equal blocks, the number is that of a ring algorithm.
    virtual std::int64_t bytes_moved(int call) const = 0;

    virtual int size() const = 0;
    virtual int rank() const = 0;
};

/// Polls until `call` is complete.
///
/// With a node, sleeps on this rank's bell: then no other call that other ranks wait for may be running.
///
/// Errors: Error{communication} if the job is aborted meanwhile
void wait(Collectives& collectives, int call, const WaitContext& waits, NodeMemory* node = nullptr);

}  // namespace ziggurat::comm
