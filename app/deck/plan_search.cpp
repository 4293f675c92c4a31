#include "app/deck/plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/deck/planning_progress.hpp"
#include "app/deck/remedy_search.hpp"
#include "app/output/atomic_file.hpp"
#include "app/output/time_text.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "layout/stage_layers.hpp"
#include "plan/for_each_on_threads.hpp"
#include "plan/layouts/layout_search.hpp"
#include "plan/layouts/smallest_layouts.hpp"
#include "plan/plan_run.hpp"
#include "plan/report/time_report.hpp"
#include "plan/search/remedies.hpp"
#include "plan/time_to_train.hpp"

namespace ziggurat::app {
namespace {

constexpr int deck_is_wrong = static_cast<int>(ErrorKind::deck);
constexpr int does_not_fit = static_cast<int>(ErrorKind::resource);
constexpr const char* remedy = "Give a file in a folder that you can write to.";

void print(std::FILE* stream, const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stream);
}

/// A layout as the deck that would start it.
struct LayoutDeck {
    plan::FoundLayout found;
    deck::LoadedDeck deck;
    bool is_planned = false;  ///< `found` has the time and the footprint of the deck
};

std::string row(std::size_t place, const LayoutDeck& found, const spec::MachineSpec& machine) {
    const auto& [choice, time, footprint] = found.found;
    const auto mfu = plan::speed_of(found.deck.run, machine, time.step_seconds).mfu;
    return fmt::format("{:>5} {:>10} {:>7} {:>10}  {}\n{:>37}{}\n", place, format_duration(time.step_seconds),
                       mfu ? fmt::format("{:.1f}%", 100 * *mfu) : "-", format_bytes(footprint.needed[0]),
                       plan::described(choice), "", plan::bound_text(time));
}

/// True if the deck leads to the run that the search has planned.
bool is_same_run(const spec::RunSpec& of_deck, spec::RunSpec searched) {
    if (!of_deck.parallel.stage_layers.empty()) {
        searched.parallel.stage_layers = layout::stage_layers(searched);
    }
    return of_deck == searched;
}

/// Loads the deck with more overrides than those of the command line.
deck::LoadedDeck with_overrides(const PlanOptions& options,
                                const deck::LoadOptions& load,
                                const std::vector<std::string>& more) {
    auto overrides = options.overrides;
    overrides.insert(overrides.end(), more.begin(), more.end());
    return deck::load(options.deck, overrides, load);
}

/// Loads the decks of the layouts, the best first, and plans them on the threads of this machine.
///
/// Layouts that a rule refuses, or of which a stage in the middle does not fit, are left out.
///
/// \param machine  with the rates of the search
/// \param refused  set to the problems of the first deck that a rule refuses
std::vector<LayoutDeck> as_decks(const PlanOptions& options,
                                 const deck::LoadOptions& load,
                                 const plan::LayoutSearch& search,
                                 const spec::RunSpec& run,
                                 const spec::MachineSpec& machine,
                                 const spec::LayoutSpace& space,
                                 deck::Diagnostics& refused) {
    const bool sorts_by_memory = search.objective == plan::LayoutObjective::memory;
    std::vector<LayoutDeck> decks;
    for (const auto& found : search.best) {
        LayoutDeck made{.found = found,
                        .deck = with_overrides(
                            options, load, plan::override_list(found.choice, run, space, sorts_by_memory))};
        made.deck.machine = machine;
        made.is_planned = is_same_run(made.deck.run, plan::with_layout(run, found.choice, space));
        if (made.deck.ok()) {
            decks.push_back(std::move(made));
        } else if (refused.ok()) {
            refused = std::move(made.deck.found);
        }
    }
    plan::for_each_on_threads(decks.size(), [&](std::size_t i) {
        auto& made = decks[i];
        if (made.is_planned) {
            return;
        }
        made.found.footprint = plan::footprint_in_search(made.deck.run, made.deck.machine);
        made.is_planned = made.found.footprint.fits();
        if (made.is_planned) {
            made.found.time = plan::planned_time(made.deck.run, made.deck.machine);
        }
    });
    std::erase_if(decks, [](const LayoutDeck& one) { return !one.is_planned; });
    std::ranges::stable_sort(decks, [&](const LayoutDeck& one, const LayoutDeck& other) {
        return sorts_by_memory ? plan::needs_less_memory(one.found, other.found)
                               : one.found.time.step_seconds < other.found.time.step_seconds;
    });
    return decks;
}

int report_none_fits(const PlanOptions& options,
                     const plan::LayoutSearch& search,
                     const deck::LoadedDeck& loaded,
                     const spec::LayoutSpace& space,
                     const deck::LoadOptions& load,
                     Progress& progress) {
    if (!search.smallest) {
        print(
            stderr,
            "ziggurat: error: no layout fits: the ranks cannot be laid out. Use another number of ranks.\n");
        return does_not_fit;
    }
    const auto& smallest = *search.smallest;
    const auto layout = plan::overrides_of(smallest.choice, loaded.run, space);
    auto text =
        fmt::format("ziggurat: error: no layout fits: the one with the smallest shortfall lacks {}:{}\n",
                    format_bytes(smallest.footprint.total_lack()), layout);
    PlannedJob job = options;
    for (auto& argument : plan::override_list(smallest.choice, loaded.run, space, false)) {
        job.overrides.push_back(std::move(argument));
    }
    auto with_layout = loaded;
    with_layout.run = plan::with_layout(loaded.run, smallest.choice, space);
    plan::FoundRemedies remedies;
    {
        const PlanningProgress watched{progress};
        const auto planned = plan::plan_run(with_layout.run, loaded.machine);
        remedies = plan::find_remedies(with_layout.run, loaded.machine, planned, watched.watch(),
                                       remedy_search(job, load, with_layout, RemedyTime::unlimited));
    }
    for (const auto& change : remedies.remedies) {
        text += fmt::format("  {} with{} {}\n", change.fits ? "It fits" : "It needs less, but does not fit,",
                            layout, change.overrides);
    }
    print(stderr, text);
    return does_not_fit;
}

/// Reports that the layouts which fit make no deck that can start.
int report_refused(const deck::Diagnostics& refused) {
    if (refused.ok()) {
        print(
            stderr,
            "ziggurat: error: no layout fits: a stage in the middle of the pipeline exceeds the memory. Use "
            "more ranks, or other homes with tiers.home.\n");
        return does_not_fit;
    }
    print(stderr, refused.print());
    return refused.exit_code();
}

}  // namespace

deck::LoadedDeck load_for_search(const PlanOptions& options, deck::LoadOptions load, bool& leaves_layout) {
    std::optional<spec::RunSpec> run;
    std::optional<spec::MachineSpec> machine;
    load.keeps_layout_rules = true;
    load.choose_layout = [&](const spec::RunSpec& open, const spec::MachineSpec& on, const auto&,
                             const auto&) {
        run = open;
        machine = on;
        return spec::ChosenLayouts{.runs = {}, .reason = "the search chooses it"};
    };
    auto loaded = deck::load(options.deck, options.overrides, load);
    leaves_layout = run.has_value();
    if (leaves_layout) {
        loaded.run = std::move(*run);
        loaded.machine = std::move(*machine);
        loaded.found = {};
    }
    return loaded;
}

int search_and_print(const PlanOptions& options,
                     const deck::LoadedDeck& loaded,
                     bool leaves_layout,
                     const deck::LoadOptions& load,
                     Progress& progress) {
    const bool sorts_by_memory = options.objective == "memory";
    auto run = loaded.run;
    run.sharding.leases = sorts_by_memory ? spec::LeaseSpan::pass : run.sharding.leases;
    const spec::LayoutSpace space{.sum_group = loaded.sum_group};
    if (!plan::missing_rates(run, loaded.machine).empty()) {
        print(stderr, time_text(run, loaded.machine, std::nullopt));
        return deck_is_wrong;
    }
    if (!options.write.empty()) {
        expect_writable(options.write, remedy);
    }
    plan::LayoutSearch search;
    std::vector<LayoutDeck> decks;
    deck::Diagnostics refused;
    double own_seconds = 0;
    {
        const PlanningProgress watched{progress};
        const auto search_by = sorts_by_memory ? plan::search_smallest_layouts : plan::search_layouts;
        search = search_by(run, loaded.machine, space, loaded.layout_rules, {}, watched.watch());
        decks = as_decks(options, load, search, run, loaded.machine, space, refused);
        own_seconds = leaves_layout ? 0 : plan::planned_time(loaded.run, loaded.machine).step_seconds;
    }
    if (leaves_layout && !decks.empty() &&
        decks.front().deck.found.warnings() + decks.front().deck.found.notes() > 0) {
        print(stderr, decks.front().deck.found.print());
    }
    print(stdout, plan::search_text(search));
    if (const auto dropped = search.best.size() - decks.size(); dropped > 0) {
        print(stdout, fmt::format("          {} of the best are left out: as decks, a rule refuses them, "
                                  "or a stage in the middle does not fit\n",
                                  dropped));
    }
    if (search.refused_choice) {
        const auto of_choice = plan::override_list(*search.refused_choice, run, space, sorts_by_memory);
        return report_refused(with_overrides(options, load, of_choice).found);
    }
    if (decks.empty()) {
        return search.best.empty() ? report_none_fits(options, search, loaded, space, load, progress)
                                   : report_refused(refused);
    }
    print(stdout, "            step     mfu     device  layout, and what bounds it\n");
    const bool has_spans =
        std::ranges::any_of(decks, [](const LayoutDeck& one) { return one.deck.run.sharding.is_by_span; });
    if (has_spans) {
        print(stdout,
              fmt::format("{:>37}spans P/G/O: parameters over P data ranks, gradients over G, optimizer "
                          "over O\n",
                          ""));
    }
    for (std::size_t i = 0; i < decks.size(); ++i) {
        print(stdout, row(i + 1, decks[i], loaded.machine));
    }
    print(stdout, fmt::format("the first one:{}\n",
                              plan::overrides_of(decks.front().found.choice, run, space, sorts_by_memory)));
    print(stdout, leaves_layout ? "this deck leaves its layout to the planner (auto)\n"
                                : fmt::format("this deck's own layout: {} ({:.2f} times the {})\n",
                                              format_duration(own_seconds),
                                              own_seconds / decks.front().found.time.step_seconds,
                                              sorts_by_memory ? "first" : "fastest"));
    if (!options.write.empty()) {
        write_file_atomically(options.write, decks.front().deck.effective, remedy);
        print(stdout, fmt::format("wrote the first one to {}\n", printable(options.write)));
    }
    return 0;
}

}  // namespace ziggurat::app
