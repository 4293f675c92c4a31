#include "train/ops/actions_in_turn.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "base/contract.hpp"

namespace ziggurat::train {
namespace {

struct InTurn {
    std::vector<Action> actions;
    std::size_t current = 0;

    const Action& now() const { return actions[current]; }
};

/// Returns a function that calls the one of the current action; empty if those are empty.
template <class Result>
std::function<Result()> current(const std::shared_ptr<InTurn>& all, std::function<Result()> Action::*member) {
    if (!(all->actions.front().*member)) {
        return {};
    }
    return [all, member] { return (all->now().*member)(); };
}

/// Returns a function that adds the counts of all actions; empty if those are empty.
std::function<std::int64_t()> sum(const std::shared_ptr<InTurn>& all,
                                  std::function<std::int64_t()> Action::*count) {
    if (!(all->actions.front().*count)) {
        return {};
    }
    return [all, count] {
        std::int64_t total = 0;
        for (const auto& action : all->actions) {
            total += (action.*count)();
        }
        return total;
    };
}

}  // namespace

Action in_turn(std::vector<Action> actions) {
    ZG_EXPECTS(!actions.empty() && !actions.front().predicate);
    if (actions.size() == 1) {
        return std::move(actions.front());
    }
    const auto all = std::make_shared<InTurn>(InTurn{std::move(actions)});
    const auto& first = all->actions.front();
    return {.run = current(all, &Action::run),
            .is_enqueued = current(all, &Action::is_enqueued),
            .abort = current(all, &Action::abort),
            .when_done = current(all, &Action::when_done),
            .start = current(all, &Action::start),
            .poll = current(all, &Action::poll),
            .bytes_moved = sum(all, &Action::bytes_moved),
            .skipped_bytes = sum(all, &Action::skipped_bytes),
            .ended_ns = current(all, &Action::ended_ns),
            .began_ns = current(all, &Action::began_ns),
            .before_step =
                [all](std::int64_t step) {
                    all->current = static_cast<std::size_t>(step) % all->actions.size();
                    if (all->now().before_step) {
                        all->now().before_step(step);
                    }
                },
            .may_begin = current(all, &Action::may_begin),
            .hold_reason = first.hold_reason,
            .max_running_before = first.max_running_before,
            .computes_concurrently = first.computes_concurrently};
}

}  // namespace ziggurat::train
