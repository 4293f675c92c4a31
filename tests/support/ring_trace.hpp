/// Execution of ring attention by origin: the blocks and ranks from which each block of a buffer comes.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "layout/context/ring_round.hpp"
#include "schedule/model_layout.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::test {

/// Runs the attention ops and messages of all ranks of a run, with sets instead of bytes.
///
/// Keys and values of a block are its index. Gradients are pairs of a block of keys and the context rank
/// whose queries have added to them.
class RingTrace {
  public:
    RingTrace(const spec::RunSpec& spec, const std::vector<schedule::Program>& programs);

    /// Runs all programs; returns the first error, or an empty text.
    std::string run();
    std::int64_t num_rounds() const { return num_rounds_; }

  private:
    using Block = std::multiset<std::pair<std::int64_t, int>>;
    using Attention = std::tuple<int, int, schedule::Direction>;  // unit, micro-batch, direction

    using Link = std::tuple<int, int, std::string>;  // from and to a rank, in a group
    using Place = std::pair<int, std::int64_t>;      // buffer and index of the block in it

    struct Rank {
        schedule::ModelLayout model;
        std::size_t next_op = 0;
        std::map<Link, std::deque<std::vector<Place>>> awaited = {};  // receives that are posted
        std::map<Place, Block> blocks = {};
        std::map<Attention, std::set<std::int64_t>> attended = {};
    };

    /// Completes posted receives whose messages were sent.
    void receive(Rank& rank);
    /// True if an op touches a buffer into which a message is still to arrive.
    bool waits(const Rank& rank, const schedule::Op& op) const;
    void step(Rank& rank, const schedule::Program& program, const schedule::Op& op);
    void run_compute(Rank& rank, const schedule::Program& program, const schedule::Op& op);
    /// Returns the places of the blocks of an operand.
    std::vector<Place> places(const schedule::Program& program, const schedule::Operand& operand) const;
    /// True if queries of a rank attend to keys of a block.
    bool attends(const Rank& rank, const schedule::Op& op, std::int64_t key_block) const;
    /// Checks the blocks of keys to which a rank has attended in all rounds.
    void check_attended(const Rank& rank, const schedule::Op& op, const std::set<std::int64_t>& attended);
    void fail(const schedule::Op& op, const std::string& text);

    const spec::RunSpec& spec_;
    const std::vector<schedule::Program>& programs_;
    std::int64_t ranks_, block_elements_ = 0;
    std::vector<Rank> states_;
    std::map<Link, std::deque<std::vector<Block>>> messages_;
    std::string error_;
    std::int64_t num_rounds_ = 0;
};

}  // namespace ziggurat::test
