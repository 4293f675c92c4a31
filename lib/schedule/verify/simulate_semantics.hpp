/// Values that ops compute from their operands, in the simulation of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "schedule/verify/simulate.hpp"
#include "schedule/verify/simulate_contents.hpp"

namespace ziggurat::schedule::simulation {

/// Contents of an op's operands at its begin.
struct Found {
    std::vector<Pieces> reads;   ///< by read operand
    std::vector<Pieces> before;  ///< by write operand: earlier content, for ops that add to it
};

/// Memories of all ranks, and the effect of ops on them.
class SimulatedWorld {
  public:
    SimulatedWorld(const std::vector<Program>& programs,
                   const ExpectedResults* truth,
                   std::function<void(Finding)> report);

    /// Checks that the predicate of an op, if it has one, has been computed in this step.
    void check_predicate(int rank, OpId op, int step);
    /// Reads the op's operands and marks the bytes that it writes as being written.
    Found begin(int rank, OpId op, int step);
    /// Returns the values of the written operands of an op that needs no other rank.
    std::vector<Pieces> local(int rank, OpId op, int step, const Found& found);
    /// Returns the same for all members of a collective, by member.
    std::vector<std::vector<Pieces>> collective(const std::vector<std::pair<int, int>>& rank_and_op,
                                                const std::vector<Found>& found);
    /// Stores the values of written operands.
    void finish(int rank, OpId op, int step, const std::vector<Pieces>& values);

    /// Checks the states after the last step: each shard is updated once per step, all holders are equal,
    /// and the norms count each element one time. Returns a fingerprint of all parameters.
    std::uint64_t check_states(int steps);

  private:
    const Program& program(int rank) const { return programs_[rank]; }
    const Op& op_of(int rank, OpId op) const { return program(rank).ops[op]; }
    const Buffer& buffer(int rank, int index) const { return program(rank).buffers[index]; }
    void report_finding(FindingKind kind, int rank, OpId op, const std::string& text) const;
    std::string name_of(int rank, OpId op) const;

    // simulate_memory.cpp: memory contents, and checks of reads
    Memory& memory(int rank, BufferId buffer);
    /// Direction of an access, which selects the slot of a buffer with two slots.
    enum class Access { read, write };
    std::int64_t base(int rank, BufferId buffer, int step, Access access) const;
    /// Returns the buffer whose memory `buffer` has in a step: another one of its rotation, or itself.
    BufferId rotated(int rank, BufferId buffer, int step) const;
    /// Returns the first slot of the buffer's rotation, or the buffer itself.
    BufferId first_slot(int rank, BufferId buffer) const;
    /// Returns the number of an op's micro-batch. Without a flush, it counts over all steps.
    int number_of(int rank, int microbatch, int step) const;
    /// Returns the number of updates of the parameters that an op of a step uses.
    int version_of(int rank, const Op& op, int step) const;
    void fill_initially(int rank);
    Pieces pieces_of_operand(int rank, const Operand& operand, int step, Access access = Access::read);
    void check_read(int rank, OpId op, int step, const Operand& operand, Pieces& pieces) const;
    bool is_given(int rank, BufferId buffer) const;
    Pieces inputs(int rank, BufferId buffer, int step, Pieces pieces) const;

    // simulate_meaning.cpp: values computed from values
    std::uint64_t value_of_read(int rank, OpId op, std::size_t index, const Found& found) const;
    /// Returns the name of what `op` computes, in `direction`.
    std::uint64_t name_of(int rank, const Op& op, Direction direction, int step) const;
    /// Returns the output of the forward op of a gradient that computes it again (fuse_glu_pass).
    Content output_again(int rank, OpId op, int step, const Found& found) const;
    std::vector<Pieces> computed(int rank, OpId op, int step, const Found& found);
    Pieces gradients(
        int rank, OpId op, int step, const Operand& written, const Pieces* before, std::uint64_t term);
    std::vector<Pieces> published(int rank, OpId op, int step, const Found& found);
    std::vector<Pieces> updated(int rank, OpId op, int step, const Found& found);
    Pieces state_before(int rank, OpId op, int step, int unit, const Operand& kept, const Found& found);
    Pieces summed(const std::vector<Pieces>& summands, int rank, OpId op);

    // simulate_ops.cpp: local, and
    std::vector<Pieces> exact_sums(int rank, const Op& done, int step) const;

    // simulate_exchange.cpp: results of collectives, and rounding of sums
    /// Returns gradients in the type of the buffer that keeps them.
    Pieces kept(Pieces gradients, const Buffer& in);
    void exchange(const std::vector<std::pair<int, int>>& rank_and_op,
                  const std::vector<Found>& found,
                  std::size_t i,
                  std::vector<std::vector<Pieces>>& values);

    // simulate_judgement.cpp: checks of gradients and states
    void check_gradients(int rank, OpId op, int step, const Found& found);
    void count_in_norm(int rank, int step, const Pieces& pieces, UnitId unit);
    void check_norms(int steps) const;

    const std::vector<Program>& programs_;
    const ExpectedResults* truth_;
    std::function<void(Finding)> report_;
    std::set<std::uint64_t> parameters_;                                ///< names of those of units
    bool has_no_flush_ = false;                                         ///< of some rank
    std::vector<std::map<BufferId, std::pair<int, int>>> rotation_of_;  ///< by rank: rotation, and slot in it
    std::vector<std::vector<Memory>> memories_;  ///< by rank: the arenas, then one for buffers without offset
    Terms terms_;
    /// By step and holders' key: ranges of elements that norms have counted.
    std::map<std::pair<int, std::int64_t>, std::vector<layout::ElementRange>> counted_;
};

/// Returns the name of a unit's state. Parameters and their copies share one name; other kinds have
/// their own.
std::uint64_t state_name(StateKind kind, UnitId unit);

}  // namespace ziggurat::schedule::simulation
