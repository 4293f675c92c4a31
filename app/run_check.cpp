#include "app/check.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "app/run_folder.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "base/units.hpp"
#include "deck/load.hpp"
#include "deck/machine.hpp"
#include "deck/reference.hpp"

namespace ziggurat::app {
namespace {

constexpr int deck_is_wrong = static_cast<int>(ErrorKind::deck);
constexpr int does_not_fit = static_cast<int>(ErrorKind::resource);

void print(std::FILE* stream, const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stream);
}

int explain(const std::string& key) {
    std::string meant;
    const auto text = deck::explain(key, meant);
    if (text) {
        print(stdout, *text);
        return 0;
    }
    print(stderr, message(Severity::error,
                          fmt::format("unknown key {}.{}\n", deck::in_quotes(key),
                                      meant.empty() ? std::string{" decks/REFERENCE.md lists them all."}
                                                    : fmt::format(" Did you mean '{}'?", meant))));
    return deck_is_wrong;
}

void warn_of_run_folder(deck::Loaded& loaded) {
    const std::string& folder = loaded.run.run.dir;
    if (const auto why = why_not_writable(folder); !why.empty()) {
        loaded.found.warning({"run.dir", 0, 0}, fmt::format("{} cannot be written", deck::in_quotes(folder)),
                             why, "'train' ends with 3: set run.dir to a folder of yours.");
    }
}

}  // namespace

int run_check(const CheckOptions& options) {
    if (!options.explain.empty()) {
        return explain(options.explain);
    }
    deck::LoadOptions load{.ranks = options.ranks,
                           .threads = options.threads,
                           .needs_data = options.machine.empty(),
                           .choose_homes = options.choose_homes,
                           .choose_depths = options.choose_depths};
    if (!options.machine.empty()) {
        deck::Diagnostics found;
        load.machine = deck::load_called_machine(options.machine, found);
        if (!load.machine) {
            print(stderr, found.print());
            return deck_is_wrong;
        }
    }
    deck::Loaded loaded = deck::load(options.deck, options.overrides, load);
    if (!loaded.ok()) {
        print(stderr, loaded.found.print());
        return loaded.found.exit_code();
    }
    if (options.machine.empty()) {
        warn_of_run_folder(loaded);
    }
    if (loaded.found.warnings() + loaded.found.notes() > 0) {
        print(stderr, loaded.found.print());
    }
    if (options.print) {
        print(stdout, loaded.effective);
    } else {
        print(stdout, summary(loaded.run));
        print(stdout, loaded.depths.empty() ? "" : fmt::format("ahead     {}\n", loaded.depths));
    }
    if (!options.memory) {
        return 0;
    }
    const MemoryReport memory = options.memory(loaded.run, loaded.machine);
    print(options.print ? stderr : stdout, memory.table);
    return memory.fits ? 0 : does_not_fit;
}

}  // namespace ziggurat::app
