#include "schedule/simulate.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "base/contract.hpp"
#include "schedule/simulate_meaning.hpp"

namespace ziggurat::schedule {
namespace {

using simulation::Found;
using simulation::Pieces;
using simulation::World;

/// A lane of a rank: its ops in order, step after step.
struct LaneState {
    enum class Phase { idle, blocked, joined, running, ended };

    int rank = 0;
    std::vector<int> ops;
    std::size_t next = 0;
    int step = 0;
    Phase phase = Phase::idle;
    double weight = 1;  ///< of being drawn
    Found found;
    std::vector<Pieces> values;

    int op() const { return ops[next]; }
};

/// Who stands in a meeting of several ranks: lanes, by member.
struct Meeting {
    std::vector<int> lanes;
    int present = 0;
};

class Simulation {
  public:
    Simulation(const std::vector<Program>& programs,
               const SimulationTruth* truth,
               const SimulationOptions& options)
        : programs_{programs},
          options_{options},
          state_{options.seed},
          world_{programs, truth, [this](Finding finding) { note(std::move(finding)); }} {
        for (int rank = 0; rank < static_cast<int>(programs.size()); ++rank) {
            add_rank(rank);
        }
    }

    SimulationResult run(const SimulationTruth* truth) {
        while (!runnable_.empty() && !is_over()) {
            const auto drawn = draw();
            const int lane = runnable_[drawn];
            runnable_[drawn] = runnable_.back();
            runnable_.pop_back();
            advance(lane);
        }
        if (!is_over()) {
            look_for_what_is_left();
        }
        const bool trains = std::any_of(programs_.begin(), programs_.end(), [](const Program& program) {
            return program.variant == Variant::train;
        });
        if (!is_over() && truth != nullptr && trains) {
            result_.fingerprint = world_.judge_states(options_.steps);
        }
        return std::move(result_);
    }

  private:
    using MessageKey = std::tuple<int, int, int>;  // from, to, tag

    const Op& op_of(const LaneState& lane) const {
        return programs_[static_cast<std::size_t>(lane.rank)].ops[static_cast<std::size_t>(lane.op())];
    }
    LaneState& lane_at(int lane) { return lanes_[static_cast<std::size_t>(lane)]; }
    const Group& group_of(int rank, const Op& op) const {
        return programs_[static_cast<std::size_t>(rank)].groups.at(static_cast<std::size_t>(op.group));
    }
    std::string name(const LaneState& lane) const {
        return "rank " + std::to_string(lane.rank) + ", op " + std::to_string(lane.op()) + " '" +
               op_of(lane).label + "' of step " + std::to_string(lane.step);
    }
    bool is_over() const {
        return is_stopped_ || static_cast<int>(result_.findings.size()) >= options_.most_findings;
    }
    void note(Finding finding) {
        if (static_cast<int>(result_.findings.size()) < options_.most_findings) {
            result_.findings.push_back(std::move(finding));
        }
    }
    std::uint64_t random() { return state_ = simulation::mixed(state_, 1); }

    void add_rank(int rank) {
        const auto& program = programs_[static_cast<std::size_t>(rank)];
        std::vector<LaneState> mine(program.lanes.size());
        for (int op = 0; op < static_cast<int>(program.ops.size()); ++op) {
            mine.at(static_cast<std::size_t>(program.ops[static_cast<std::size_t>(op)].lane))
                .ops.push_back(op);
        }
        done_.emplace_back(program.ops.size(), 0);
        waiters_.emplace_back(program.ops.size());
        for (auto& lane : mine) {
            lane.rank = rank;
            lane.weight = static_cast<double>(random() % 1000);
            lane.phase = lane.ops.empty() ? LaneState::Phase::ended : LaneState::Phase::idle;
            if (!lane.ops.empty() && options_.steps > 0) {
                runnable_.push_back(static_cast<int>(lanes_.size()));
            }
            lanes_.push_back(std::move(lane));
        }
    }

    /// Even seeds draw evenly; odd ones mostly take the lane with the largest weight, and so let it run
    /// ahead.
    std::size_t draw() {
        const auto any = static_cast<std::size_t>(random() % runnable_.size());
        if (options_.seed % 2 == 0 || random() % 8 == 0) {
            return any;
        }
        std::size_t best = any;
        for (std::size_t i = 0; i < runnable_.size(); ++i) {
            if (lane_at(runnable_[i]).weight > lane_at(runnable_[best]).weight) {
                best = i;
            }
        }
        return best;
    }

    /// The op that the head of the lane still waits for; -1: none.
    int missing(const LaneState& lane) const {
        const auto& op = op_of(lane);
        const auto& done = done_[static_cast<std::size_t>(lane.rank)];
        for (const int w : op.waits_for) {
            if (done.at(static_cast<std::size_t>(w)) <= lane.step) {
                return w;
            }
        }
        for (const int w : op.waits_for_previous_step) {
            if (done.at(static_cast<std::size_t>(w)) < lane.step) {
                return w;
            }
        }
        return -1;
    }

    void advance(int index) {
        auto& lane = lane_at(index);
        if (lane.phase == LaneState::Phase::running) {
            end(index);
            return;
        }
        const int wanted = missing(lane);
        if (wanted >= 0) {
            lane.phase = LaneState::Phase::blocked;
            waiters_[static_cast<std::size_t>(lane.rank)][static_cast<std::size_t>(wanted)].push_back(index);
            return;
        }
        lane.found = world_.begin(lane.rank, lane.op(), lane.step);
        const auto& op = op_of(lane);
        const bool meets = op.group >= 0 && (op.kind == OpKind::step_end ||
                                             (op.kind >= OpKind::all_gather && op.kind <= OpKind::broadcast));
        if (op.kind == OpKind::send || op.kind == OpKind::receive) {
            lane.phase = LaneState::Phase::joined;
            message(index);
        } else if (meets) {
            lane.phase = LaneState::Phase::joined;
            join(index);
        } else {
            lane.values = world_.local(lane.rank, lane.op(), lane.step, lane.found);
            start(index);
        }
    }

    void start(int index) {
        lane_at(index).phase = LaneState::Phase::running;
        runnable_.push_back(index);
    }

    void end(int index) {
        auto& lane = lane_at(index);
        world_.finish(lane.rank, lane.op(), lane.step, lane.values);
        ++result_.ops_run;
        const auto rank = static_cast<std::size_t>(lane.rank);
        const auto op = static_cast<std::size_t>(lane.op());
        done_[rank][op] = lane.step + 1;
        for (const int waiter : std::exchange(waiters_[rank][op], {})) {
            lane_at(waiter).phase = LaneState::Phase::idle;
            runnable_.push_back(waiter);
        }
        lane.phase = LaneState::Phase::idle;
        if (++lane.next == lane.ops.size()) {
            lane.next = 0;
            if (++lane.step == options_.steps) {
                lane.phase = LaneState::Phase::ended;
                return;
            }
        }
        runnable_.push_back(index);
    }

    void join(int index) {
        auto& lane = lane_at(index);
        const auto& group = group_of(lane.rank, op_of(lane));
        auto& meeting = meetings_[{group.name, group.members}];
        meeting.lanes.resize(group.members.size(), -1);
        auto& seat = meeting.lanes[static_cast<std::size_t>(group.my_index)];
        if (seat >= 0) {
            note({FindingKind::malformed, lane.rank, lane.op(),
                  name(lane) + " starts in group '" + group.name + "' beside " + name(lane_at(seat))});
            is_stopped_ = true;
            return;
        }
        seat = index;
        if (++meeting.present < group.size()) {
            return;
        }
        const auto members = std::exchange(meeting.lanes, {});
        meeting.present = 0;
        if (!judge_match(members, group)) {
            is_stopped_ = true;
            return;
        }
        meet(members);
    }

    void meet(const std::vector<int>& members) {
        std::vector<std::pair<int, int>> ops;
        std::vector<Found> found;
        for (const int member : members) {
            ops.emplace_back(lane_at(member).rank, lane_at(member).op());
            found.push_back(std::move(lane_at(member).found));
        }
        const auto kind = op_of(lane_at(members.front())).kind;
        std::vector<std::vector<Pieces>> values;
        if (kind == OpKind::step_end) {
            for (std::size_t m = 0; m < members.size(); ++m) {
                const auto& lane = lane_at(members[m]);
                values.push_back(world_.local(lane.rank, lane.op(), lane.step, found[m]));
            }
        } else if (kind == OpKind::broadcast) {
            const auto root = static_cast<std::size_t>(op_of(lane_at(members.front())).peer);
            for (const int member : members) {
                values.emplace_back(op_of(lane_at(member)).writes.empty() ? 0 : 1, found[root].reads.front());
            }
        } else {
            values = world_.collective(ops, found);
        }
        for (std::size_t m = 0; m < members.size(); ++m) {
            lane_at(members[m]).values = std::move(values[m]);
            start(members[m]);
        }
    }

    bool judge_match(const std::vector<int>& members, const Group& group) {
        const auto& first = lane_at(members.front());
        const auto& one = op_of(first);
        for (const int member : members) {
            const auto& lane = lane_at(member);
            const auto& other = op_of(lane);
            bool same = one.kind == other.kind && one.purpose == other.purpose &&
                        (one.unit == other.unit || one.purpose == Purpose::gradients) &&
                        one.payload == other.payload && one.microbatch == other.microbatch &&
                        one.peer == other.peer && one.direction == other.direction &&
                        one.blocks.size() == other.blocks.size() && first.step == lane.step;
            for (std::size_t b = 0; same && b < one.blocks.size(); ++b) {
                same = one.blocks[b].bytes == other.blocks[b].bytes;
            }
            const bool needs_blocks = one.kind == OpKind::all_gather || one.kind == OpKind::reduce_scatter ||
                                      one.kind == OpKind::all_reduce;
            const auto operands = one.writes.size();
            if (needs_blocks &&
                (one.blocks.size() != operands * group.members.size() || one.reads.size() != operands)) {
                note({FindingKind::malformed, first.rank, first.op(),
                      name(first) + " has " + std::to_string(one.blocks.size()) + " blocks for " +
                          std::to_string(operands) + " operands of " + std::to_string(group.size()) +
                          " members"});
                return false;
            }
            if (!same) {
                note({FindingKind::collective_mismatch, lane.rank, lane.op(),
                      "in group '" + group.name + "' " + name(first) + " meets " + name(lane)});
                return false;
            }
        }
        return true;
    }

    void message(int index) {
        auto& lane = lane_at(index);
        const auto& op = op_of(lane);
        const auto& group = group_of(lane.rank, op);
        const int peer = group.members.at(static_cast<std::size_t>(op.peer));
        if (op.kind == OpKind::send) {
            sends_[{lane.rank, peer, op.tag}].push_back(index);
            match({lane.rank, peer, op.tag});
            auto& count = outstanding_[{lane.rank, peer}];
            if (lane.phase == LaneState::Phase::joined && count < options_.buffered_sends) {
                ++count;
                auto& queue = sends_[{lane.rank, peer, op.tag}];
                queue.back() = -1 - static_cast<int>(letters_.size());
                letters_.push_back({lane.found, lane.rank, lane.op()});
                start(index);
            }
        } else {
            receives_[{peer, lane.rank, op.tag}].push_back(index);
            match({peer, lane.rank, op.tag});
        }
    }

    void match(const MessageKey& key) {
        auto& sends = sends_[key];
        auto& receives = receives_[key];
        if (sends.empty() || receives.empty()) {
            return;
        }
        const int sender = sends.front();
        const int receiver = receives.front();
        sends.pop_front();
        receives.pop_front();
        auto& to = lane_at(receiver);
        const Found& sent =
            sender >= 0 ? lane_at(sender).found : letters_[static_cast<std::size_t>(-1 - sender)].found;
        const auto bytes = sent.reads.front().empty() ? 0 : sent.reads.front().back().end;
        if (bytes != op_of(to).writes.front().bytes()) {
            note({FindingKind::unmatched_message, to.rank, to.op(),
                  name(to) + " expects " + std::to_string(op_of(to).writes.front().bytes()) +
                      " bytes and is sent " + std::to_string(bytes)});
            is_stopped_ = true;
            return;
        }
        to.values = {sent.reads.front()};
        start(receiver);
        if (sender >= 0) {
            lane_at(sender).values.assign(op_of(lane_at(sender)).writes.size(), {});
            start(sender);
        } else {
            --outstanding_[{std::get<0>(key), std::get<1>(key)}];
        }
    }

    /// The lane, of any rank, that has to move before `index` can; -1 when there is none; and why, in words.
    std::pair<int, std::string> holdup(int index) {
        auto& lane = lane_at(index);
        const auto& op = op_of(lane);
        const auto lane_of = [&](int rank, const auto& wanted) {
            for (std::size_t l = 0; l < lanes_.size(); ++l) {
                if (lanes_[l].rank == rank && wanted(lanes_[l])) {
                    return static_cast<int>(l);
                }
            }
            return -1;
        };
        if (lane.phase == LaneState::Phase::blocked) {
            const int wanted = missing(lane);
            return {lane_of(lane.rank,
                            [&](const LaneState& l) {
                                return std::find(l.ops.begin(), l.ops.end(), wanted) != l.ops.end();
                            }),
                    "waits for op " + std::to_string(wanted)};
        }
        const auto& group = group_of(lane.rank, op);
        const auto same_group = [&](const LaneState& l) {
            const auto& program = programs_[static_cast<std::size_t>(l.rank)];
            return std::any_of(l.ops.begin(), l.ops.end(), [&](int o) {
                const auto& candidate = program.ops[static_cast<std::size_t>(o)];
                return candidate.group >= 0 && candidate.kind == op.kind &&
                       group_of(l.rank, candidate).members == group.members;
            });
        };
        if (op.kind == OpKind::send || op.kind == OpKind::receive) {
            const int peer = group.members.at(static_cast<std::size_t>(op.peer));
            const auto wanted = op.kind == OpKind::send ? OpKind::receive : OpKind::send;
            const int other = lane_of(peer, [&](const LaneState& l) {
                return std::any_of(l.ops.begin(), l.ops.end(), [&](int o) {
                    const auto& candidate =
                        programs_[static_cast<std::size_t>(peer)].ops[static_cast<std::size_t>(o)];
                    return candidate.kind == wanted && candidate.tag == op.tag &&
                           group_of(peer, candidate).members[static_cast<std::size_t>(candidate.peer)] ==
                               lane.rank;
                });
            });
            return {other,
                    "waits for rank " + std::to_string(peer) + (other < 0 ? ", which has no op for it" : "")};
        }
        const auto& meeting = meetings_[{group.name, group.members}];
        for (std::size_t m = 0; m < group.members.size(); ++m) {
            if (meeting.lanes[m] < 0) {
                return {lane_of(group.members[m], same_group),
                        "waits in group '" + group.name + "' for rank " + std::to_string(group.members[m])};
            }
        }
        return {-1, "waits"};
    }

    void look_for_what_is_left() {
        const auto is_stuck = [](const LaneState& lane) { return lane.phase != LaneState::Phase::ended; };
        const auto stuck = std::find_if(lanes_.begin(), lanes_.end(), is_stuck);
        if (stuck != lanes_.end()) {
            // Whoever holds up whom, until one comes up again.
            std::vector<int> chain{static_cast<int>(stuck - lanes_.begin())};
            std::vector<std::string> words;
            for (bool circle = false; !circle;) {
                const auto [next, why] = holdup(chain.back());
                words.push_back(name(lane_at(chain.back())) + " " + why);
                if (next < 0 || lane_at(next).phase == LaneState::Phase::ended) {
                    break;
                }
                const auto before = std::find(chain.begin(), chain.end(), next);
                circle = before != chain.end();
                if (circle) {
                    words.erase(words.begin(), words.begin() + (before - chain.begin()));
                }
                chain.push_back(next);
            }
            std::string text = "nothing moves any more:";
            for (const auto& word : words) {
                text += "\n    " + word;
            }
            note({FindingKind::deadlock, lane_at(chain.back()).rank,
                  lane_at(chain.back()).phase == LaneState::Phase::ended ? -1 : lane_at(chain.back()).op(),
                  text});
            return;
        }
        for (const auto& [key, queue] : sends_) {
            if (!queue.empty()) {
                const auto& letter = letters_[static_cast<std::size_t>(-1 - queue.front())];
                note({FindingKind::unmatched_message, letter.rank, letter.op,
                      "rank " + std::to_string(letter.rank) + " sends op " + std::to_string(letter.op) +
                          " to rank " + std::to_string(std::get<1>(key)) + ", which never receives it"});
            }
        }
    }

    struct Letter {
        Found found;
        int rank;
        int op;
    };

    const std::vector<Program>& programs_;
    SimulationOptions options_;
    SimulationResult result_;
    bool is_stopped_ = false;
    std::uint64_t state_;
    World world_;
    std::vector<LaneState> lanes_;
    std::vector<int> runnable_;
    std::vector<std::vector<int>> done_;                  ///< by rank and op: in how many steps
    std::vector<std::vector<std::vector<int>>> waiters_;  ///< by rank and op: lanes
    std::map<std::pair<std::string, std::vector<int>>, Meeting> meetings_;
    std::map<MessageKey, std::deque<int>> sends_;  ///< lanes, or -1 - index of a letter
    std::map<MessageKey, std::deque<int>> receives_;
    std::map<std::pair<int, int>, int> outstanding_;
    std::deque<Letter> letters_;
};

}  // namespace

const char* to_string(FindingKind kind) {
    constexpr const char* names[] = {"malformed",
                                     "deadlock",
                                     "collective mismatch",
                                     "unmatched message",
                                     "unwritten read",
                                     "overwritten read",
                                     "stale read",
                                     "wrong sum",
                                     "wrong gradient",
                                     "wrong state",
                                     "race",
                                     "memory",
                                     "lease"};
    return names[static_cast<int>(kind)];
}

std::string SimulationResult::report() const {
    std::string text;
    for (const auto& finding : findings) {
        text += std::string{to_string(finding.kind)} + ": " + finding.text + "\n";
    }
    return text;
}

SimulationResult simulate(const std::vector<Program>& programs,
                          const SimulationTruth* truth,
                          const SimulationOptions& options) {
    for (std::size_t rank = 0; rank < programs.size(); ++rank) {
        ZG_EXPECTS(programs[rank].rank == static_cast<int>(rank));
    }
    return Simulation{programs, truth, options}.run(truth);
}

}  // namespace ziggurat::schedule
