#include "app/deck/plan_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "app/deck/planning_progress.hpp"
#include "app/output/atomic_file.hpp"
#include "app/output/time_text.hpp"
#include "base/error.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "layout/stage_layers.hpp"
#include "plan/for_each_on_threads.hpp"
#include "plan/layouts/layout_search.hpp"
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
    plan::LayoutChoice choice;
    deck::LoadedDeck deck;
    plan::PlannedTime time;
    std::int64_t device_bytes = 0;
};

std::string row(std::size_t place, const LayoutDeck& found, const spec::MachineSpec& machine) {
    const auto mfu = plan::speed_of(found.deck.run, machine, found.time.step_seconds).mfu;
    return fmt::format("{:>5} {:>10} {:>7} {:>10}  {}\n{:>37}{}\n", place,
                       format_duration(found.time.step_seconds),
                       mfu ? fmt::format("{:.1f}%", 100 * *mfu) : "-", format_bytes(found.device_bytes),
                       plan::described(found.choice), "", plan::bound_text(found.time));
}

/// True if the deck leads to the run that the search has planned.
bool is_same_run(const spec::RunSpec& of_deck, spec::RunSpec searched) {
    if (!of_deck.parallel.stage_layers.empty()) {
        searched.parallel.stage_layers = layout::stage_layers(searched);
    }
    return of_deck == searched;
}

/// Loads the decks of the layouts, the fastest first, and plans them on the threads of this machine.
///
/// Layouts that a rule refuses, or of which a stage in the middle does not fit, are left out.
std::vector<LayoutDeck> as_decks(const PlanOptions& options,
                                 const deck::LoadOptions& load,
                                 const plan::LayoutSearch& search,
                                 const spec::RunSpec& run) {
    std::vector<LayoutDeck> decks;
    for (const auto& found : search.best) {
        auto overrides = options.overrides;
        for (auto& value : plan::override_list(found.choice, run)) {
            overrides.push_back(std::move(value));
        }
        LayoutDeck made{
            .choice = found.choice, .deck = deck::load(options.deck, overrides, load), .time = {}};
        if (is_same_run(made.deck.run, plan::with_layout(run, found.choice))) {
            made.time = found.time;
            made.device_bytes = found.footprint.needed[0];
        }
        if (made.deck.ok()) {
            decks.push_back(std::move(made));
        }
    }
    plan::for_each_on_threads(decks.size(), [&](std::size_t i) {
        auto& made = decks[i];
        if (made.device_bytes > 0) {
            return;
        }
        const auto planned = plan::plan_run(made.deck.run, made.deck.machine, plan::PlannedRanks::first);
        if (planned.footprint.fits()) {
            made.device_bytes = planned.footprint.needed[0];
            made.time = plan::planned_time(made.deck.run, made.deck.machine);
        }
    });
    std::erase_if(decks, [](const LayoutDeck& one) { return one.device_bytes == 0; });
    std::ranges::stable_sort(decks, {}, [](const LayoutDeck& one) { return one.time.step_seconds; });
    return decks;
}

int report_none_fits(const plan::LayoutSearch& search, const deck::LoadedDeck& loaded) {
    if (!search.smallest) {
        print(
            stderr,
            "ziggurat: error: no layout fits: the ranks cannot be laid out. Use another number of ranks.\n");
        return does_not_fit;
    }
    const auto& smallest = *search.smallest;
    const auto run = plan::with_layout(loaded.run, smallest.choice);
    auto text = fmt::format(
        "ziggurat: error: no layout fits: the one with the smallest shortfall lacks {}:{}\n",
        format_bytes(smallest.footprint.total_lack()), plan::overrides_of(smallest.choice, loaded.run));
    const auto planned = plan::plan_run(run, loaded.machine);
    constexpr std::size_t num_remedies = 3;
    std::size_t shown = 0;
    for (const auto& change : plan::find_remedies(run, loaded.machine, planned)) {
        if (shown++ < num_remedies) {
            text += fmt::format("  {} with{}\n", change.fits ? "It fits" : "It needs less, but does not fit,",
                                change.overrides);
        }
    }
    print(stderr, text);
    return does_not_fit;
}

}  // namespace

int search_and_print(const PlanOptions& options,
                     const deck::LoadedDeck& loaded,
                     const deck::LoadOptions& load,
                     Progress& progress) {
    const auto& run = loaded.run;
    if (!plan::missing_rates(run, loaded.machine).empty()) {
        print(stderr, time_text(run, loaded.machine, std::nullopt));
        return deck_is_wrong;
    }
    if (!options.write.empty()) {
        expect_writable(options.write, remedy);
    }
    plan::LayoutSearch search;
    std::vector<LayoutDeck> decks;
    double own_seconds = 0;
    {
        const PlanningProgress watched{progress};
        search = plan::search_layouts(run, loaded.machine, {}, {}, watched.watch());
        decks = as_decks(options, load, search, run);
        own_seconds = plan::planned_time(run, loaded.machine).step_seconds;
    }
    print(stdout, plan::search_text(search));
    if (const auto refused = search.best.size() - decks.size(); refused > 0) {
        print(stdout, fmt::format("          {} of the fastest are left out: as decks, a rule refuses them, "
                                  "or a stage in the middle does not fit\n",
                                  refused));
    }
    if (decks.empty()) {
        return report_none_fits(search, loaded);
    }
    print(stdout, "            step     mfu     device  layout, and what bounds it\n");
    for (std::size_t i = 0; i < decks.size(); ++i) {
        print(stdout, row(i + 1, decks[i], loaded.machine));
    }
    print(stdout, fmt::format("the first one:{}\n", plan::overrides_of(decks.front().choice, run)));
    print(stdout, fmt::format("this deck's own layout: {} ({:.2f} times the fastest)\n",
                              format_duration(own_seconds), own_seconds / decks.front().time.step_seconds));
    if (!options.write.empty()) {
        write_file_atomically(options.write, decks.front().deck.effective, remedy);
        print(stdout, fmt::format("wrote the first one to {}\n", printable(options.write)));
    }
    return 0;
}

}  // namespace ziggurat::app
