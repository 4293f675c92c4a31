/// Lanes of all ranks during a simulation; only simulate*.cpp includes this file.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/rotated_program.hpp"
#include "schedule/verify/simulate.hpp"
#include "schedule/verify/simulate_semantics.hpp"

namespace ziggurat::schedule::simulation {

/// State of a lane of a rank: its ops in order, step after step.
struct LaneState {
    enum class Phase { idle, blocked, joined, running, ended };

    int rank = 0;
    std::vector<int> ops;
    std::size_t next = 0;
    int step = 0;  ///< run of the program
    Phase phase = Phase::idle;
    double weight = 1;        ///< relative probability of being chosen
    bool is_skipped = false;  ///< the predicate of the current op is false
    Found found;
    std::vector<Pieces> values;

    OpId op() const { return ops[next]; }
};

/// Members that have entered a collective of several ranks: lanes, by member.
struct Collective {
    std::vector<int> lanes;
    int present = 0;
};

/// One run of all ranks.
///
/// A lane that can continue is runnable. Other lanes are stored with the op, group or message that they wait
/// for.
class Simulation {
  public:
    Simulation(const std::vector<Program>& programs,
               const ExpectedResults* truth,
               const SimulationOptions& options)
        : programs_{programs},
          options_{options},
          state_{options.seed},
          world_{programs, truth, [this](Finding finding) { note(std::move(finding)); }} {
        for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank) {
            add_rank(rank);
        }
    }

    SimulationResult run(const ExpectedResults* truth);

  private:
    using MessageKey = std::tuple<int, int, int>;  // from, to, tag

    const Op& op_of(const LaneState& lane) const { return programs_[lane.rank].ops[lane.op()]; }
    LaneState& lane_at(LaneId lane) { return lanes_[lane]; }
    const Group& group_of(int rank, const Op& op) const { return programs_[rank].groups.at(op.group); }
    std::string name(const LaneState& lane) const {
        return "rank " + std::to_string(lane.rank) + ", op " + std::to_string(lane.op()) + " '" +
               op_of(lane).label + "' of step " + std::to_string(lane.step);
    }
    bool is_over() const {
        return is_stopped_ || static_cast<int>(result_.findings.size()) >= options_.max_findings;
    }
    void note(Finding finding) {
        if (static_cast<int>(result_.findings.size()) < options_.max_findings) {
            result_.findings.push_back(std::move(finding));
        }
    }
    std::uint64_t random() { return state_ = simulation::mixed(state_, 1); }

    // simulate_lanes.cpp
    void add_rank(int rank);
    /// Chooses a runnable lane. Even seeds choose with equal probability; odd seeds mostly choose the lane
    /// with the largest weight, which then runs ahead.
    std::size_t draw();
    /// Returns the op that the head of the lane still waits for; -1 if it waits for no op.
    int missing(const LaneState& lane) const;
    /// Begins the next op of a runnable lane, or ends its current op.
    void advance(int index);
    /// Returns true if the predicate of an op is false in a step; it is true in each second step.
    bool skips(const LaneState& lane) const {
        const auto& op = op_of(lane);
        return (op.predicate && lane.step % 2 == 0) ||
               !PipelineFill{0, options_.steps}.runs(programs_[lane.rank], op, step_of(lane));
    }
    /// Returns the number of runs of a rank's program, with those that fill a pipeline without a flush.
    int num_runs(int rank) const { return options_.steps + runs_in_flight(programs_[rank]); }
    /// Returns the step that a lane is in; below 0 while it fills the pipeline.
    int step_of(const LaneState& lane) const { return lane.step - runs_in_flight(programs_[lane.rank]); }
    void start(int index);
    void end(int index);

    // simulate_collectives.cpp
    /// Enters the lane's collective; the last member to enter starts it on all.
    void join(int index);
    void meet(const std::vector<int>& members);
    /// Returns true if all members are in the same call.
    bool check_match(const std::vector<int>& members, const Group& group);
    /// Begins the lane's send or receive.
    void message(int index);
    void match(const MessageKey& key);

    // simulate_deadlock.cpp
    /// Returns the lane, of any rank, that must continue before `index` can (-1: none), and the reason.
    std::pair<int, std::string> holdup(int index);
    void look_for_what_is_left();

    /// Message of a buffered send.
    struct Letter {
        Found found;
        int rank;
        OpId op = -1;
    };

    const std::vector<Program>& programs_;
    SimulationOptions options_;
    SimulationResult result_;
    bool is_stopped_ = false;
    std::uint64_t state_;
    SimulatedWorld world_;
    std::vector<LaneState> lanes_;
    std::vector<int> runnable_;
    std::vector<std::vector<int>> done_;                  ///< by rank and op: number of finished steps
    std::vector<std::vector<std::vector<int>>> waiters_;  ///< by rank and op: lanes
    std::map<std::pair<std::string, std::vector<int>>, Collective> collectives_;
    std::map<MessageKey, std::deque<int>> sends_;  ///< lanes, or -1 - index of a letter
    std::map<MessageKey, std::deque<int>> receives_;
    std::map<std::pair<int, int>, int> outstanding_;
    std::deque<Letter> letters_;
};

}  // namespace ziggurat::schedule::simulation
