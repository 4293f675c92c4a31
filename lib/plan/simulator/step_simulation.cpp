#include "plan/simulator/step_simulation.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "base/contract.hpp"
#include "plan/simulator/rank_lanes.hpp"
#include "plan/simulator/rendezvous.hpp"

namespace ziggurat::plan {
namespace {

/// Steps that are not counted: only later steps start with memory and lanes in use.
constexpr int warm_up_steps = 2;
constexpr int steps_counted = 2;
constexpr int all_steps = warm_up_steps + steps_counted;

class Simulation {
  public:
    Simulation(const std::vector<SimulatedRank>& ranks, const Rates& rates)
        : rendezvous_{programs_of(ranks)},
          launch_time_{rates.launch_time},
          arrived_(static_cast<std::size_t>(rendezvous_.count() * all_steps)) {
        for (const auto& rank : ranks) {
            lanes_.emplace_back(*rank.program, rank.seconds, rates);
        }
        for (const auto& lanes : lanes_) {
            states_.emplace_back(lanes);
        }
        made_.times.resize(all_steps);
    }

    SimulatedSteps run() {
        for (int rank = 0; rank < num_ranks(); ++rank) {
            begin_step(rank, 0, 0);
            auto& state = states_[rank];
            for (std::size_t lane = 0; lane < state.entered.size(); ++lane) {
                admit(rank, lane, 0, {});
            }
            serve(rank, 0);
        }
        while (!is_done() && !events_.empty()) {
            const auto now = events_.top().time;
            touched_.clear();
            while (!events_.empty() && events_.top().time == now) {
                const auto event = events_.top();
                events_.pop();
                touched_.push_back(event.at.rank);
                event.is_end ? end(event.at, now) : start(event.at, now);
            }
            for (std::size_t i = 0; i < touched_.size(); ++i) {
                serve(touched_[i], now);
            }
        }
        ZG_ENSURES(is_done());
        return take();
    }

  private:
    struct Event {
        double time = 0;
        std::int64_t order = 0;  ///< events of one time are processed in the order of their creation
        OpInstance at;
        bool is_end = true;  ///< false: an op whose layer is held may begin

        bool operator>(const Event& other) const {
            return std::tie(time, order) > std::tie(other.time, other.order);
        }
    };

    /// State of one op in one step.
    struct Progress {
        int waits = 0;
        bool has_ended = false;
    };

    struct RankState {
        explicit RankState(const RankLanes& lanes)
            : progress(all_steps),
              left_of_step(all_steps, lanes.num_step_ops()),
              entered(lanes.num_lanes()),
              ended(lanes.num_lanes()),
              lane_free(lanes.num_lanes()) {
            for (auto& step : progress) {
                step.resize(lanes.num_ops());
            }
        }

        std::vector<std::vector<Progress>> progress;  ///< by step and op
        std::vector<int> left_of_step;                ///< by step: compute ops and step ends to run
        std::vector<double> begun;                    ///< by step
        std::vector<std::int64_t> entered;            ///< by lane: positions that may begin
        std::vector<std::int64_t> ended;              ///< by lane: first position that has not ended
        std::vector<double> lane_free;
        double launched = 0;  ///< time at which the host has launched the last op of the compute lane
        std::array<std::vector<OpInstance>, num_shared> waiting;  ///< by shared resource
        std::array<bool, num_shared> is_busy{};
        std::array<OpInstance, num_shared> last_user{};
    };

    static std::vector<const schedule::Program*> programs_of(const std::vector<SimulatedRank>& ranks) {
        std::vector<const schedule::Program*> programs;
        for (const auto& rank : ranks) {
            programs.push_back(rank.program);
        }
        return programs;
    }

    int num_ranks() const { return static_cast<int>(lanes_.size()); }

    bool is_done() const {
        return std::ranges::all_of(states_, [](const RankState& state) {
            return state.begun.size() > static_cast<std::size_t>(all_steps);
        });
    }

    SimulatedOp& times(const OpInstance& at) { return made_.times[at.step][at.rank][at.op]; }
    Progress& progress(const OpInstance& at) { return states_[at.rank].progress[at.step][at.op]; }

    /// Begins a step of a rank; its ops may run when the ops that they wait for have ended.
    void begin_step(int rank, int step, double now) {
        auto& state = states_[rank];
        state.begun.push_back(now);
        state.launched = std::max(state.launched, now);
        if (step == all_steps) {
            return;
        }
        const auto& lanes = lanes_[rank];
        auto& of_step = made_.times[step];
        of_step.resize(lanes_.size());
        of_step[rank].resize(lanes.num_ops());
        for (int op = 0; op < static_cast<int>(lanes.num_ops()); ++op) {
            // One more for the place in the lane.
            state.progress[step][op].waits += lanes.num_waits(op, step > 0) + 1;
        }
        for (int op = 0; op < static_cast<int>(lanes.num_ops()); ++op) {
            make_ready({rank, step, op}, now, {});
        }
    }

    /// Lets positions of a lane begin: those before the first that has not ended plus the lane's window.
    void admit(int rank, std::size_t lane, double now, const OpInstance& after) {
        auto& state = states_[rank];
        const auto& lanes = lanes_[rank];
        const auto all = static_cast<std::int64_t>(lanes.ops_of(lane).size()) * all_steps;
        const auto end = std::min(all, state.ended[lane] + lanes.window(lane));
        while (state.entered[lane] < end) {
            const auto at = instance(rank, lane, state.entered[lane]++);
            --progress(at).waits;
            make_ready(at, now, after);
        }
    }

    OpInstance instance(int rank, std::size_t lane, std::int64_t position) const {
        const auto& ops = lanes_[rank].ops_of(lane);
        const auto count = static_cast<std::int64_t>(ops.size());
        return {rank, static_cast<int>(position / count), ops[position % count]};
    }

    /// Makes the op ready if all that it waits for has ended.
    void make_ready(const OpInstance& at, double now, const OpInstance& after) {
        const auto& state = states_[at.rank];
        if (state.begun.size() <= static_cast<std::size_t>(at.step) || progress(at).waits > 0) {
            return;
        }
        times(at).after = after;
        const int rendezvous = rendezvous_.of(at.rank, at.op);
        if (rendezvous < 0) {
            queue(at, now);
            return;
        }
        auto& ranks = arrived_[rendezvous * all_steps + at.step];
        ranks.push_back(at);
        if (static_cast<int>(ranks.size()) == rendezvous_.size(rendezvous)) {
            for (const auto& member : ranks) {
                if (member != at) {
                    times(member).after = at;
                }
                queue(member, now);
                touched_.push_back(member.rank);
            }
        }
    }

    /// Starts an op that is ready, or puts it into the queue of its processor or disk.
    void queue(const OpInstance& at, double now) {
        const auto& lanes = lanes_[at.rank];
        const auto& hold = lanes.hold(at.op);
        double until = hold.first < 0 ? 0 : times({at.rank, at.step, hold.first}).begin + hold.seconds;
        if (launch_time_ > 0 && lanes.is_launched(at.op)) {
            auto& launched = states_[at.rank].launched;
            launched += launch_time_;
            until = std::max(until, launched);
        }
        if (until > now) {
            events_.push({until, order_++, at, false});
            return;
        }
        start(at, now);
    }

    void start(const OpInstance& at, double now) {
        times(at).begin = now;
        const auto shared = lanes_[at.rank].shared(at.op);
        if (shared) {
            states_[at.rank].waiting[*shared].push_back(at);
        } else {
            run(at, now);
        }
    }

    void run(const OpInstance& at, double now) {
        auto& known = times(at);
        known.begin = now;
        known.end = now + lanes_[at.rank].seconds(at.op);
        events_.push({known.end, order_++, at, true});
    }

    /// Gives free processors and disks of a rank to the ops that wait for them: lanes that serve passes
    /// first, then the lane that has waited longest.
    void serve(int rank, double now) {
        auto& state = states_[rank];
        const auto& lanes = lanes_[rank];
        for (std::size_t shared = 0; shared < num_shared; ++shared) {
            auto& waiting = state.waiting[shared];
            if (state.is_busy[shared] || waiting.empty()) {
                continue;
            }
            const auto before = [&](const OpInstance& one, const OpInstance& other) {
                const auto key = [&](const OpInstance& at) {
                    const auto lane = lanes.lane_of(at.op);
                    return std::tuple{lanes.serves_updates(lane), state.lane_free[lane], at.step, at.op};
                };
                return key(one) < key(other);
            };
            const auto next = std::ranges::min_element(waiting, before);
            const auto at = *next;
            waiting.erase(next);
            state.is_busy[shared] = true;
            const auto& last = state.last_user[shared];
            if (times(at).begin < now && last.op >= 0) {
                times(at).after = last;
            }
            state.last_user[shared] = at;
            run(at, now);
        }
    }

    void end(const OpInstance& at, double now) {
        auto& state = states_[at.rank];
        const auto& lanes = lanes_[at.rank];
        const auto lane = lanes.lane_of(at.op);
        progress(at).has_ended = true;
        state.lane_free[lane] = now;
        if (const auto shared = lanes.shared(at.op)) {
            state.is_busy[*shared] = false;
        }
        const auto all = static_cast<std::int64_t>(lanes.ops_of(lane).size()) * all_steps;
        while (state.ended[lane] < all && progress(instance(at.rank, lane, state.ended[lane])).has_ended) {
            ++state.ended[lane];
        }
        admit(at.rank, lane, now, at);
        for (const int next : lanes.next_in_step(at.op)) {
            release({at.rank, at.step, next}, now, at);
        }
        if (at.step + 1 < all_steps) {
            for (const int next : lanes.next_in_next_step(at.op)) {
                release({at.rank, at.step + 1, next}, now, at);
            }
        }
        if (lanes.bounds_step(at.op) && --state.left_of_step[at.step] == 0) {
            begin_step(at.rank, at.step + 1, now);
        }
    }

    void release(const OpInstance& at, double now, const OpInstance& after) {
        --progress(at).waits;
        make_ready(at, now, after);
    }

    SimulatedSteps take() {
        for (const auto& state : states_) {
            const double seconds =
                (state.begun[all_steps] - state.begun[warm_up_steps]) / static_cast<double>(steps_counted);
            made_.step_seconds = std::max(made_.step_seconds, seconds);
        }
        made_.step = warm_up_steps;
        made_.begin = states_.front().begun[warm_up_steps];
        return std::move(made_);
    }

    RendezvousTable rendezvous_;
    double launch_time_;
    std::vector<std::vector<OpInstance>> arrived_;  ///< by rendezvous and step
    std::vector<RankLanes> lanes_;                  ///< by rank
    std::vector<RankState> states_;                 ///< by rank
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::int64_t order_ = 0;
    std::vector<int> touched_;  ///< ranks whose resources may have become free or wanted
    SimulatedSteps made_;
};

}  // namespace

SimulatedSteps simulate_steps(const std::vector<SimulatedRank>& ranks, const Rates& rates) {
    ZG_EXPECTS(!ranks.empty());
    return Simulation{ranks, rates}.run();
}

}  // namespace ziggurat::plan
