/// Collectives as the executor sees them: described once, then started and polled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spec/dtype.hpp"

namespace ziggurat::comm {

class NodeMemory;
class WaitContext;

enum class CollectiveKind { all_gather, reduce_scatter, all_reduce, all_to_all, broadcast, send, receive };

/// A part of a vector; may be empty. For sums both numbers are multiples of the element's size.
struct Block {
    std::int64_t offset_bytes = 0;
    std::int64_t bytes = 0;

    std::int64_t end() const noexcept { return offset_bytes + bytes; }
    bool operator==(const Block&) const = default;
};

// clang-format off
/// One call, described once at assembly and executed each step.
///
/// This member's vectors begin at `in` = `input` + `input_offset_bytes` and `out` = `output` +
/// `output_offset_bytes`. Block m belongs to member m. On member r, each kind reads and writes:
///
///     all_gather      reads [in, in + |block r|), writes block m of `out` with the bytes that member m read
///     reduce_scatter  reads all blocks of `in`, writes [out, out + |block r|): the sum of block r over members
///     all_reduce      reads all blocks of `in`, writes all blocks of `out`; member m does the sum of block m
///     all_to_all      reads block m of `in`, for member m; writes output block m of `out`, from member m
///     broadcast       reads blocks[0] of `in` on member `peer`, writes blocks[0] of `out` on the others
///     send            reads blocks[0] of `in`
///     receive         writes blocks[0] of `out`
///
/// A shard in its place: reduce_scatter with output = input, output_offset = blocks[r].offset + input_offset;
/// all_gather with input = output, input_offset = blocks[r].offset + output_offset.
///
/// Aliasing: input and output are apart, or in place: all_gather and reduce_scatter as above, all_reduce with
///           in = out, broadcast always may. all_to_all never.
// clang-format on
struct CollectiveCall {
    CollectiveKind kind = CollectiveKind::all_reduce;
    spec::DType type = spec::DType::f32;  ///< of the elements that are summed; else only for the record
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::int64_t input_offset_bytes = 0;
    std::int64_t output_offset_bytes = 0;
    std::vector<Block> blocks = {};         ///< one per member; one alone for broadcast, send, receive
    std::vector<Block> output_blocks = {};  ///< all_to_all: of `out`, by the member that sends it
    int peer = -1;                          ///< broadcast: the root; send, receive: the other member
    int tag = 0;                            ///< send, receive: tells messages of the same two apart, >= 0
    int sum_group = 0;                      ///< members summed together before groups are; 0: all (flat)
    std::string label = {};                 ///< for messages
};

/// Throws `Error{internal}` that names the call and what is wrong with it.
void check_call(const CollectiveCall& call, int size, int rank);

const char* name_of(CollectiveKind kind) noexcept;

/// The collective operations of one group of ranks. One thread calls.
///
/// Numerics: sums are left folds in fp32, over the members of each run of `sum_group` in their order, then
///           over the runs in theirs; rounded once to `type`. Independent of timing and implementation.
class Collectives {
  public:
    virtual ~Collectives() = default;

    /// Makes a call ready and gives its number. All memory that it needs is reserved here.
    ///
    /// Collective: over the group, in the same order on all members; send and receive are local
    /// Errors:     Error{internal} on all members when they do not describe the same call
    virtual int prepare(CollectiveCall call) = 0;

    /// The inputs are ready. Never waits. The call must not be running.
    ///
    /// Collective: the members of a group start its calls in the same order; different groups mix freely
    virtual void start(int call) = 0;

    /// Makes progress on all running calls of the group; true once `call` has left its result and its inputs
    /// may be overwritten. A call that does not run is complete.
    virtual bool poll(int call) = 0;

    /// Makes progress; true once the outputs may be read, though others may still read the inputs. Never
    /// later than poll(), and earlier where members read each other's memory.
    virtual bool has_result(int call) { return poll(call); }

    /// Bytes that all executions of `call` so far have moved between this member and others, counted by the
    /// member that copies them: with messages the sender, with shared memory the one that reads or writes
    /// others' memory. With equal blocks it is as much as a ring would send.
    virtual std::int64_t bytes_moved(int call) const = 0;

    virtual int size() const = 0;
    virtual int rank() const = 0;
};

/// Polls until `call` is complete. With a node, sleeps on this rank's bell: then nothing else that others
/// wait for may be running.
///
/// Errors: Error{communication} when the job is being ended meanwhile
void wait(Collectives& collectives, int call, const WaitContext& waits, NodeMemory* node = nullptr);

}  // namespace ziggurat::comm
