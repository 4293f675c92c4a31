#include "schedule/expand/zero_bubble_v.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "base/contract.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::schedule {
namespace {

using Pass = Slot::Pass;

/// Choice of a stage between slots that it could run.
enum class Preference {
    backward,          ///< of the second chunk, then of the first, before forward
    older_microbatch,  ///< the same, but the older micro-batch before the second chunk
    alternate          ///< forward and backward alternate
};

/// Orders of all stages, found by running them together with slots of one unit of time.
class VRun {
  public:
    VRun(int stages, int microbatches, Preference preference)
        : stages_{stages}, microbatches_{microbatches}, preference_{preference}, states_(stages) {
        made_.assign(std::size_t{4} * stages * microbatches, not_made);
        orders.resize(stages);
        const auto slots = std::size_t{6} * microbatches;
        const auto is_done = [&](const auto& order) { return order.size() == slots; };
        for (int now = 0; !std::ranges::all_of(orders, is_done); ++now) {
            std::vector<std::optional<Slot>> chosen;
            for (int stage = 0; stage < stages; ++stage) {
                chosen.push_back(choose(stage, now));
            }
            bool moves = false;
            for (int stage = 0; stage < stages; ++stage) {
                if (chosen[stage]) {
                    run(stage, *chosen[stage], now);
                    moves = true;
                }
            }
            ZG_ENSURES(moves);
            rounds = now + 1;
        }
    }

    std::vector<std::vector<Slot>> orders;  ///< by stage
    int rounds = 0;

  private:
    static constexpr int not_made = -1;

    /// Next micro-batch of a chunk, by pass.
    struct ChunkState {
        int forward = 0;
        int backward = 0;
        int weights = 0;
    };
    struct StageState {
        std::array<ChunkState, 2> chunks;
        bool is_after_forward = false;
    };

    int& made(bool is_backward, int v, int microbatch) {
        return made_[(static_cast<std::size_t>(is_backward ? 2 * stages_ : 0) + v) * microbatches_ +
                     microbatch];
    }
    bool is_made(bool is_backward, int v, int microbatch, int now) {
        const int at = made(is_backward, v, microbatch);
        return at != not_made && at < now;
    }

    bool can_run_backward(int stage, int chunk, int now) {
        const auto& state = states_[stage].chunks[chunk];
        const int v = spec::virtual_stage(stage, chunk, stages_, true);
        const int m = state.backward;
        return m < state.forward && is_made(false, v, m, now) &&
               (v + 1 == 2 * stages_ || is_made(true, v + 1, m, now));
    }

    /// Returns true if a stage can run forward of its next micro-batch.
    ///
    /// It admits one if fewer than `stages` others have activations on it. An admitted one can always end.
    bool can_run_forward(int stage, int chunk, int now) {
        const auto& first = states_[stage].chunks.front();
        const int v = spec::virtual_stage(stage, chunk, stages_, true);
        const int m = states_[stage].chunks[chunk].forward;
        return m < microbatches_ && (v == 0 || is_made(false, v - 1, m, now)) &&
               (chunk == 1 || first.forward - first.weights < stages_);
    }

    std::optional<Slot> choose(int stage, int now) {
        const auto& chunks = states_[stage].chunks;
        std::optional<Slot> forward, backward, weights;
        for (const int chunk : {1, 0}) {
            const auto& state = chunks[chunk];
            const auto consider = [&](std::optional<Slot>& best, Pass pass, int microbatch) {
                const bool is_older =
                    best && preference_ == Preference::older_microbatch && microbatch < best->microbatch;
                if (!best || is_older) {
                    best = Slot{pass, microbatch, chunk};
                }
            };
            if (can_run_forward(stage, chunk, now)) {
                consider(forward, Pass::forward, state.forward);
            }
            if (can_run_backward(stage, chunk, now)) {
                consider(backward, Pass::backward_input, state.backward);
            }
            if (state.weights < state.backward) {
                consider(weights, Pass::backward_weight, state.weights);
            }
        }
        if (forward && backward) {
            const bool is_turn_of_forward =
                preference_ == Preference::alternate && !states_[stage].is_after_forward;
            return is_turn_of_forward ? forward : backward;
        }
        return forward ? forward : backward ? backward : weights;
    }

    void run(int stage, const Slot& slot, int now) {
        auto& state = states_[stage];
        auto& chunk = state.chunks[slot.chunk];
        const int v = spec::virtual_stage(stage, slot.chunk, stages_, true);
        orders[stage].push_back(slot);
        if (slot.pass == Pass::backward_weight) {
            ++chunk.weights;
            return;
        }
        const bool is_forward = slot.pass == Pass::forward;
        ++(is_forward ? chunk.forward : chunk.backward);
        made(!is_forward, v, slot.microbatch) = now;
        state.is_after_forward = is_forward;
    }

    int stages_;
    int microbatches_;
    Preference preference_;
    std::vector<StageState> states_;
    std::vector<int> made_;  ///< time of each result
};

}  // namespace

std::vector<std::vector<Slot>> zero_bubble_v(int stages, int microbatches) {
    std::optional<VRun> best;
    for (const auto preference :
         {Preference::backward, Preference::older_microbatch, Preference::alternate}) {
        VRun found{stages, microbatches, preference};
        if (!best || found.rounds < best->rounds) {
            best = std::move(found);
        }
    }
    return std::move(best->orders);
}

}  // namespace ziggurat::schedule
