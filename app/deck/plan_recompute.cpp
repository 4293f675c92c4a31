#include "app/deck/plan_recompute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "app/deck/planning_progress.hpp"
#include "app/output/time_text.hpp"
#include "base/error.hpp"
#include "base/text/units.hpp"
#include "plan/recompute/recompute_comparison.hpp"
#include "plan/time_to_train.hpp"

namespace ziggurat::app {
namespace {

std::string row(const plan::RecomputeComparison& found, const plan::NamedChoice& choice) {
    const auto lack = choice.cost.bytes - found.budget;
    return fmt::format("  {:<10} {:>12} {:>12} {:>12}  {}\n", choice.name,
                       format_duration(found.step_seconds + choice.cost.seconds),
                       format_duration(choice.cost.seconds), format_bytes(choice.cost.bytes),
                       lack > 0 ? fmt::format("lacks {}", format_bytes(lack)) : "fits");
}

std::string conclusion(const plan::RecomputeComparison& found) {
    const auto* greedy = found.find("greedy");
    const auto* exact = found.find("exact");
    if (exact == nullptr) {
        return found.is_proven
                   ? "no choice of recomputation fits. Use more ranks, or move other state: ziggurat check\n"
                   : "the solver found no choice within its time limit\n";
    }
    auto text =
        greedy == nullptr
            ? std::string{"the greedy search finds no choice that fits\n"}
            : fmt::format(
                  "the exact choice has a step that is {:.2f} % shorter than that of the greedy one{}\n",
                  100 * found.gap(),
                  found.is_proven ? "" : "; the solver stopped at its time limit, a better one may exist");
    if (greedy != nullptr) {
        text += fmt::format("  greedy recomputes {}\n", plan::describe(found.graph, greedy->choice));
    }
    return text + fmt::format("  exact recomputes {}\n", plan::describe(found.graph, exact->choice));
}

}  // namespace

int print_recomputation(const deck::LoadedDeck& loaded, Progress& progress) {
    const auto& run = loaded.run;
    if (!plan::missing_rates(run, loaded.machine).empty()) {
        const auto text = time_text(run, loaded.machine, std::nullopt);
        std::fwrite(text.data(), 1, text.size(), stderr);
        return static_cast<int>(ErrorKind::deck);
    }
    plan::RecomputeComparison found;
    {
        const PlanningProgress watched{progress};
        found = plan::compare_recomputation(run, loaded.machine, {}, watched.watch());
    }
    std::int64_t layers = 0;
    for (const auto& kind : found.graph.kinds) {
        layers += kind.layers;
    }
    auto text = fmt::format(
        "RECOMPUTATION  {}, stage {}: {} layers that keep values of {} micro-batch{}; {} for these values\n",
        run.run.name, found.stage, layers, found.graph.in_flight, found.graph.in_flight == 1 ? "" : "es",
        found.budget == spec::unlimited ? "no limit" : format_bytes(std::max<std::int64_t>(0, found.budget)));
    text += fmt::format("  {:<10} {:>12} {:>12} {:>12}\n", "choice", "step", "recomputed", "kept");
    for (const auto& choice : found.choices) {
        text += row(found, choice);
    }
    text += conclusion(found);
    text += "Decks have the kinds none, selective and full; greedy and exact choose for each op and layer.\n";
    std::fwrite(text.data(), 1, text.size(), stdout);
    return found.find("exact") != nullptr ? 0 : static_cast<int>(ErrorKind::resource);
}

}  // namespace ziggurat::app
