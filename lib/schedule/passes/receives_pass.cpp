#include "schedule/passes/receives_pass.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::schedule {
namespace {

/// Result of a slot.
struct Made {
    bool is_backward = false;
    int position = 0;  ///< virtual stage
    int microbatch = 0;
};

/// Sets `made` to the result that a slot needs from this or another stage; returns false if it needs
/// none.
bool needs(const Slot& slot, int position, int virtual_stages, Made& made) {
    switch (slot.pass) {
        case Slot::Pass::forward:
            made = {false, position - 1, slot.microbatch};
            return position > 0;
        case Slot::Pass::backward:
        case Slot::Pass::backward_input:
            made = {true, position + 1, slot.microbatch};
            return position + 1 < virtual_stages;
        case Slot::Pass::backward_weight:
            return false;
    }
    return false;
}

/// Times of slots, and of their results.
class SlotTimes {
  public:
    SlotTimes(const std::vector<std::vector<Slot>>& orders, bool turns_back)
        : of_slots(orders.size()), turns_back_{turns_back} {
        int chunks = 1;
        for (const auto& order : orders) {
            for (const auto& slot : order) {
                chunks = std::max(chunks, slot.chunk + 1);
                microbatches_ = std::max(microbatches_, slot.microbatch + 1);
            }
        }
        const auto stages = static_cast<int>(orders.size());
        virtual_stages = chunks * stages;
        made_at_.assign(std::size_t{2} * static_cast<std::size_t>(virtual_stages) *
                            static_cast<std::size_t>(microbatches_),
                        not_made);
        bool moves = true;
        for (int now = 0; moves; ++now) {
            moves = false;
            for (int stage = 0; stage < stages; ++stage) {
                moves = advance(orders[stage], of_slots[stage], {stage, stages}, now) || moves;
            }
        }
        for (int stage = 0; stage < stages; ++stage) {
            ZG_ENSURES(of_slots[stage].size() == orders[stage].size());
        }
    }

    int made_at(const Made& made) const {
        const int time = made_at_[index(made)];
        ZG_ENSURES(time != not_made);
        return time;
    }

    int virtual_stages = 0;
    std::vector<std::vector<int>> of_slots;  ///< by stage, in its order

  private:
    static constexpr int not_made = std::numeric_limits<int>::max();

    struct StageAt {
        int stage = 0;
        int stages = 0;
    };

    /// Starts the next slot of a stage if its input was made before `now`.
    bool advance(const std::vector<Slot>& order, std::vector<int>& times, StageAt at, int now) {
        if (times.size() == order.size()) {
            return false;
        }
        const auto& slot = order[times.size()];
        const int position = spec::virtual_stage(at.stage, slot.chunk, at.stages, turns_back_);
        Made wanted;
        if (needs(slot, position, virtual_stages, wanted) && made_at_[index(wanted)] >= now) {
            return false;
        }
        times.push_back(now);
        if (slot.pass != Slot::Pass::backward_weight) {
            made_at_[index({slot.pass != Slot::Pass::forward, position, slot.microbatch})] = now;
        }
        return true;
    }

    std::size_t index(const Made& made) const {
        const int row = (made.is_backward ? virtual_stages : 0) + made.position;
        return static_cast<std::size_t>(row) * static_cast<std::size_t>(microbatches_) +
               static_cast<std::size_t>(made.microbatch);
    }

    bool turns_back_;
    int microbatches_ = 0;
    std::vector<int> made_at_;
};

}  // namespace

std::vector<std::vector<int>> slot_times(const std::vector<std::vector<Slot>>& orders, bool turns_back) {
    return SlotTimes{orders, turns_back}.of_slots;
}

void receives_pass(ProgramBuilder& draft,
                   const std::vector<std::vector<Slot>>& orders,
                   const ModelLayout& model) {
    const int stage = model.stage;
    const int stages = static_cast<int>(orders.size());
    if (stages == 1) {
        return;
    }
    const SlotTimes times{orders, model.turns_back};

    auto& ops = draft.program.ops;
    const auto& mine = orders[stage];
    const auto& my_times = times.of_slots[stage];
    std::multimap<std::pair<std::size_t, int>, std::size_t> posted;  // (slot, time of the send) -> op
    std::vector<bool> is_moved(ops.size());
    for (std::size_t k = 0; k < mine.size(); ++k) {
        const auto end = k + 1 < mine.size() ? draft.slot_begins[k + 1] : ops.size();
        for (auto i = draft.slot_begins[k]; i < end; ++i) {
            if (ops[i].kind != OpKind::receive) {
                continue;
            }
            Made wanted;
            ZG_ENSURES(needs(mine[k], model.virtual_stage(mine[k].chunk), times.virtual_stages, wanted));
            const int sent = times.made_at(wanted);
            const auto slot = std::lower_bound(my_times.begin(), my_times.end(), sent) - my_times.begin();
            posted.emplace(std::pair{static_cast<std::size_t>(slot), sent}, i);
            is_moved[i] = true;
        }
    }
    std::vector<Op> ordered;
    ordered.reserve(ops.size());
    auto next = posted.begin();
    for (std::size_t k = 0; k < mine.size(); ++k) {
        for (; next != posted.end() && next->first.first == k; ++next) {
            ordered.push_back(std::move(ops[next->second]));
        }
        const auto end = k + 1 < mine.size() ? draft.slot_begins[k + 1] : ops.size();
        for (auto i = draft.slot_begins[k]; i < end; ++i) {
            if (!is_moved[i]) {
                ordered.push_back(std::move(ops[i]));
            }
        }
    }
    ops = std::move(ordered);
    draft.slot_begins.clear();
}

}  // namespace ziggurat::schedule
