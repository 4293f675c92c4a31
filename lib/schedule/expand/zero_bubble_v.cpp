#include "schedule/expand/zero_bubble_v.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>

#include "base/contract.hpp"
#include "spec/virtual_stages.hpp"

namespace ziggurat::schedule {
namespace {

using Pass = Slot::Pass;

constexpr int num_chunks = 2;
constexpr int interval = 6;  ///< slots of a micro-batch on a stage

/// Slots that a stage could run, and what it knows for its choice.
struct Candidates {
    std::vector<Slot> forward = {}, backward = {}, weights = {};  ///< of the second chunk, then of the first
    int stage = 0;
    bool is_after_forward = false;
};

/// Choice of a stage between slots that it could run.
class Preference {
  public:
    virtual ~Preference() = default;
    virtual std::optional<Slot> choose(const Candidates& slots) const = 0;
};

/// Runs gradients of weights if there is nothing else.
class WeightsLast : public Preference {
  public:
    enum class Kind {
        backward,          ///< backward before forward, of the second chunk before the first
        older_microbatch,  ///< the same, but the older micro-batch before the second chunk
        alternate          ///< forward and backward alternate
    };

    explicit WeightsLast(Kind kind) : kind_{kind} {}

    std::optional<Slot> choose(const Candidates& slots) const override {
        const auto forward = first(slots.forward);
        const auto backward = first(slots.backward);
        if (forward && backward) {
            return kind_ == Kind::alternate && !slots.is_after_forward ? forward : backward;
        }
        return forward ? forward : backward ? backward : first(slots.weights);
    }

  private:
    std::optional<Slot> first(const std::vector<Slot>& slots) const {
        if (slots.empty()) {
            return {};
        }
        return kind_ == Kind::older_microbatch ? *std::ranges::min_element(slots, {}, &Slot::microbatch)
                                               : slots.front();
    }

    Kind kind_;
};

/// Runs the slot that is first in an order in which micro-batches follow each other by one interval.
class Periodic : public Preference {
  public:
    /// Times between slots of one micro-batch.
    struct Offsets {
        int there, back;                 ///< from one stage to the next, in forward and in backward
        std::array<int, 3> after_turns;  ///< from one chunk to the next one on the same stage
    };

    Periodic(int stages, const Offsets& offsets) {
        const int there = offsets.there * (stages - 1);
        const int back = offsets.back * (stages - 1);
        const int second = there + offsets.after_turns[0];
        const int third = second + back + offsets.after_turns[1];
        const int fourth = third + there + offsets.after_turns[2];
        for (int stage = 0; stage < stages; ++stage) {
            const int to_last = stages - 1 - stage;
            StageTimes times;
            times.forward = {offsets.there * stage, second + offsets.back * to_last};
            times.backward = {fourth + offsets.back * to_last, third + offsets.there * stage};
            std::vector<int> taken{times.forward[0] % interval, times.forward[1] % interval,
                                   times.backward[0] % interval, times.backward[1] % interval};
            for (const int chunk : {1, 0}) {
                int& weights = times.weights[chunk];
                weights = times.backward[chunk] + 1;
                while (std::ranges::find(taken, weights % interval) != taken.end()) {
                    ++weights;
                }
                taken.push_back(weights % interval);
            }
            times_.push_back(times);
        }
    }

    std::optional<Slot> choose(const Candidates& slots) const override {
        std::optional<Slot> best;
        for (const auto* some : {&slots.forward, &slots.backward, &slots.weights}) {
            for (const auto& slot : *some) {
                if (!best || time_of(slots.stage, slot) < time_of(slots.stage, *best)) {
                    best = slot;
                }
            }
        }
        return best;
    }

  private:
    struct StageTimes {
        std::array<int, num_chunks> forward, backward, weights;  ///< by chunk, of micro-batch 0
    };

    int time_of(int stage, const Slot& slot) const {
        const auto& times = times_[stage];
        const auto& of_pass = slot.pass == Pass::forward          ? times.forward
                              : slot.pass == Pass::backward_input ? times.backward
                                                                  : times.weights;
        return interval * slot.microbatch + of_pass[slot.chunk];
    }

    std::vector<StageTimes> times_;
};

/// Orders of all stages, found by running them together with slots of one unit of time.
class VRun {
  public:
    /// \param max_chunks  limit of chunks with activations on a stage
    VRun(int stages, int microbatches, int max_chunks, const Preference& preference)
        : stages_{stages}, microbatches_{microbatches}, max_chunks_{max_chunks}, states_(stages) {
        made_.assign(std::size_t{4} * stages * microbatches, not_made);
        orders.resize(stages);
        const auto slots = static_cast<std::size_t>(interval) * microbatches;
        const auto is_done = [&](const auto& order) { return order.size() == slots; };
        bool moves = true;
        for (int now = 0; moves && !std::ranges::all_of(orders, is_done); ++now) {
            std::vector<std::optional<Slot>> chosen;
            for (int stage = 0; stage < stages; ++stage) {
                chosen.push_back(preference.choose(candidates(stage, now)));
            }
            moves = false;
            for (int stage = 0; stage < stages; ++stage) {
                if (chosen[stage]) {
                    run(stage, *chosen[stage], now);
                    moves = true;
                }
            }
            rounds = now + 1;
        }
        is_complete = moves;
    }

    std::vector<std::vector<Slot>> orders;  ///< by stage
    int rounds = 0;
    bool is_complete = false;  ///< false if all stages wait for memory

  private:
    static constexpr int not_made = -1;

    /// Next micro-batch of a chunk, by pass.
    struct ChunkState {
        int forward = 0;
        int backward = 0;
        int weights = 0;

        int held() const { return forward - weights; }
    };
    struct StageState {
        std::array<ChunkState, num_chunks> chunks;
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
    /// It admits one if fewer than `stages` others have activations on it. A second chunk finds room for its
    /// activations then, so that an admitted one can end.
    bool can_run_forward(int stage, int chunk, int now) {
        const auto& [first, second] = states_[stage].chunks;
        const int v = spec::virtual_stage(stage, chunk, stages_, true);
        const int m = states_[stage].chunks[chunk].forward;
        const int held = first.held() + second.held();
        return m < microbatches_ && (v == 0 || is_made(false, v - 1, m, now)) &&
               (chunk == 1 ? held < max_chunks_ : first.held() < stages_ && held + 1 < max_chunks_);
    }

    Candidates candidates(int stage, int now) {
        Candidates found{.stage = stage, .is_after_forward = states_[stage].is_after_forward};
        for (const int chunk : {1, 0}) {
            const auto& state = states_[stage].chunks[chunk];
            if (can_run_forward(stage, chunk, now)) {
                found.forward.push_back({Pass::forward, state.forward, chunk});
            }
            if (can_run_backward(stage, chunk, now)) {
                found.backward.push_back({Pass::backward_input, state.backward, chunk});
            }
            if (state.weights < state.backward) {
                found.weights.push_back({Pass::backward_weight, state.weights, chunk});
            }
        }
        return found;
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
    int max_chunks_;
    std::vector<StageState> states_;
    std::vector<int> made_;  ///< time of each result
};

std::vector<std::unique_ptr<Preference>> preferences(int stages, VMemory memory) {
    std::vector<std::unique_ptr<Preference>> found;
    if (memory == VMemory::whole) {
        for (const auto kind : {WeightsLast::Kind::backward, WeightsLast::Kind::older_microbatch,
                                WeightsLast::Kind::alternate}) {
            found.push_back(std::make_unique<WeightsLast>(kind));
        }
    } else {
        // The best of all paces up to 5, for up to 12 stages.
        for (const auto& offsets : {Periodic::Offsets{2, 4, {1, 1, 1}}, Periodic::Offsets{2, 1, {5, 1, 1}},
                                    Periodic::Offsets{2, 1, {4, 1, 2}}}) {
            found.push_back(std::make_unique<Periodic>(stages, offsets));
        }
    }
    return found;
}

}  // namespace

std::vector<std::vector<Slot>> zero_bubble_v(int stages, int microbatches, VMemory memory) {
    const int max_chunks = memory == VMemory::whole ? 2 * stages + 1 : stages + 2;
    std::optional<VRun> best;
    for (const auto& preference : preferences(stages, memory)) {
        VRun found{stages, microbatches, max_chunks, *preference};
        if (found.is_complete && (!best || found.rounds < best->rounds)) {
            best = std::move(found);
        }
    }
    ZG_ENSURES(best);
    return std::move(best->orders);
}

}  // namespace ziggurat::schedule
