/// Values that each op makes of what it reads, in the simulation of all ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schedule/verify/simulate.hpp"
#include "schedule/verify/simulate_contents.hpp"

namespace ziggurat::schedule::simulation {

/// What an op found in its operands.
struct Found {
    std::vector<Pieces> reads;   ///< by read operand
    std::vector<Pieces> before;  ///< by write operand: what was there, for ops that add to it
};

/// The memories of all ranks and the meaning of ops on them.
class World {
  public:
    World(const std::vector<Program>& programs,
          const SimulationTruth* truth,
          std::function<void(Finding)> report);

    /// Takes what the op reads and marks what it writes as being written.
    Found begin(int rank, int op, int step);
    /// Values of the written operands of an op that needs nobody else.
    std::vector<Pieces> local(int rank, int op, int step, const Found& found);
    /// The same for all members of a collective, by member.
    std::vector<std::vector<Pieces>> collective(const std::vector<std::pair<int, int>>& rank_and_op,
                                                const std::vector<Found>& found);
    /// Puts the values of written operands where they belong.
    void finish(int rank, int op, int step, const std::vector<Pieces>& values);

    /// After the last step: every shard updated once per step, all holders alike, each element counted once
    /// in the norms. Returns a fingerprint of all parameters.
    std::uint64_t judge_states(int steps);

  private:
    const Program& program(int rank) const { return programs_[static_cast<std::size_t>(rank)]; }
    const Op& op_of(int rank, int op) const { return program(rank).ops[static_cast<std::size_t>(op)]; }
    const Buffer& buffer(int rank, int index) const {
        return program(rank).buffers[static_cast<std::size_t>(index)];
    }
    void complain(FindingKind kind, int rank, int op, const std::string& text) const;
    std::string name_of(int rank, int op) const;

    // simulate_memory.cpp: bytes at their places, and whether what is read there is what was meant
    Memory& memory(int rank, int buffer);
    std::int64_t base(int rank, int buffer) const;
    void fill_initially(int rank);
    Pieces look(int rank, const Operand& operand);
    void judge_read(int rank, int op, int step, const Operand& operand, Pieces& pieces) const;
    bool is_given(int rank, int buffer) const;
    Pieces inputs(int rank, int buffer, int step, Pieces pieces) const;

    // simulate_meaning.cpp: values from values
    std::vector<Pieces> computed(int rank, int op, int step, const Found& found);
    Pieces gradients(
        int rank, int op, int step, const Operand& written, const Pieces* before, std::uint64_t term);
    std::vector<Pieces> updated(int rank, int op, int step, const Found& found);
    Pieces summed(const std::vector<Pieces>& summands, int rank, int op);

    // simulate_ops.cpp: local, and
    std::vector<Pieces> exact_sums(int rank, const Op& done, int step) const;

    // simulate_exchange.cpp: what collectives leave, and what of a sum is kept
    /// As a buffer of gradients keeps them.
    Pieces kept(Pieces gradients, const Buffer& in);
    void exchange(const std::vector<std::pair<int, int>>& rank_and_op,
                  const std::vector<Found>& found,
                  std::size_t i,
                  std::vector<std::vector<Pieces>>& values);

    // simulate_judgement.cpp: whether gradients and states are what they should be
    void judge_gradients(int rank, int op, int step, const Found& found);
    void count_in_norm(int rank, int step, const Pieces& pieces, int unit);
    void judge_norms(int steps) const;

    const std::vector<Program>& programs_;
    const SimulationTruth* truth_;
    std::function<void(Finding)> report_;
    std::vector<std::vector<Memory>> memories_;  ///< by rank: the arenas, then one of buffers without offset
    Terms terms_;
    /// By step and holders' key: runs of elements that norms have counted.
    std::map<std::pair<int, std::int64_t>, std::vector<layout::ElementRange>> counted_;
};

/// The identity of a unit's state: parameters and their copies are one thing, every other kind its own.
std::uint64_t state_name(StateKind kind, int unit);

}  // namespace ziggurat::schedule::simulation
