#include "schedule/passes/receives_pass.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::schedule {
namespace {

/// Result of a slot: (true for backward, virtual stage, micro-batch).
using Made = std::tuple<bool, int, int>;

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

int number_of_virtual_stages(const std::vector<std::vector<Slot>>& orders) {
    int chunks = 1;
    for (const auto& slot : orders.front()) {
        chunks = std::max(chunks, slot.chunk + 1);
    }
    return chunks * static_cast<int>(orders.size());
}

}  // namespace

std::vector<std::vector<int>> slot_times(const std::vector<std::vector<Slot>>& orders) {
    const int stages = static_cast<int>(orders.size());
    const int virtual_stages = number_of_virtual_stages(orders);
    std::vector<std::vector<int>> times(orders.size());
    std::map<Made, int> made_at;
    bool moves = true;
    for (int now = 0; moves; ++now) {
        moves = false;
        for (int stage = 0; stage < stages; ++stage) {
            const auto& order = orders[stage];
            auto& mine = times[stage];
            if (mine.size() == order.size()) {
                continue;
            }
            const auto& slot = order[mine.size()];
            const int position = slot.chunk * stages + stage;
            Made wanted;
            if (needs(slot, position, virtual_stages, wanted)) {
                const auto there = made_at.find(wanted);
                if (there == made_at.end() || there->second >= now) {
                    continue;
                }
            }
            mine.push_back(now);
            moves = true;
            if (slot.pass != Slot::Pass::backward_weight) {
                made_at[{slot.pass != Slot::Pass::forward, position, slot.microbatch}] = now;
            }
        }
    }
    for (std::size_t stage = 0; stage < orders.size(); ++stage) {
        ZG_ENSURES(times[stage].size() == orders[stage].size());
    }
    return times;
}

void receives_pass(ProgramBuilder& draft, const std::vector<std::vector<Slot>>& orders, int stage) {
    const int stages = static_cast<int>(orders.size());
    if (stages == 1) {
        return;
    }
    const int virtual_stages = number_of_virtual_stages(orders);
    const auto times = slot_times(orders);
    std::map<Made, int> made_at;
    for (int s = 0; s < stages; ++s) {
        const auto& order = orders[s];
        for (std::size_t k = 0; k < order.size(); ++k) {
            if (order[k].pass != Slot::Pass::backward_weight) {
                made_at[{order[k].pass != Slot::Pass::forward, order[k].chunk * stages + s,
                         order[k].microbatch}] = times[s][k];
            }
        }
    }

    auto& ops = draft.program.ops;
    const auto& mine = orders[stage];
    const auto& my_times = times[stage];
    std::multimap<std::pair<std::size_t, int>, std::size_t> posted;  // (slot, time of the send) -> op
    std::vector<bool> is_moved(ops.size());
    for (std::size_t k = 0; k < mine.size(); ++k) {
        const auto end = k + 1 < mine.size() ? draft.slot_begins[k + 1] : ops.size();
        for (auto i = draft.slot_begins[k]; i < end; ++i) {
            if (ops[i].kind != OpKind::receive) {
                continue;
            }
            Made wanted;
            ZG_ENSURES(needs(mine[k], mine[k].chunk * stages + stage, virtual_stages, wanted));
            const int sent = made_at.at(wanted);
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
