#include "app/check.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

#include "app/check_json.hpp"
#include "app/run_folder.hpp"
#include "app/time_text.hpp"
#include "app/token_sources.hpp"
#include "app/tokenizers.hpp"
#include "base/error.hpp"
#include "base/message.hpp"
#include "deck/load.hpp"
#include "deck/machine/job_end.hpp"
#include "deck/machine/machine.hpp"
#include "deck/reference/reference.hpp"
#include "plan/time_to_train.hpp"

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

void warn_of_run_folder(deck::LoadedDeck& loaded) {
    const std::string& folder = loaded.run.run.dir;
    if (const auto why = why_not_writable(folder); !why.empty()) {
        loaded.found.warning({"run.dir", 0, 0}, fmt::format("{} cannot be written", deck::in_quotes(folder)),
                             why, "'train' ends with 3: set run.dir to a folder of yours.");
    }
}

/// Of a deck, or a machine, with errors.
int refuse(const CheckOptions& options, const deck::Diagnostics& found) {
    if (options.json) {
        print(stdout, check_as_json({.deck = options.deck, .exit_code = found.exit_code(), .found = found}));
    } else {
        print(stderr, found.print());
    }
    return found.exit_code();
}

/// What `train` would say to this start.
struct Start {
    std::string line;  ///< what it begins with; empty: initial values, or nobody asks
    int exit_code = 0;
};

/// Asks that; news of it, and why it is refused, go to what was found.
Start look_ahead(const CheckOptions& options, deck::LoadedDeck& loaded) {
    if (!options.start) {
        return {};
    }
    Start start;
    try {
        auto ahead = options.start(loaded);
        for (auto& warning : ahead.news.warnings) {
            loaded.found.tell(Severity::warning, std::move(warning));
        }
        for (auto& note : ahead.news.notes) {
            loaded.found.tell(Severity::note, std::move(note));
        }
        start.line = std::move(ahead.line);
    } catch (const Error& error) {
        loaded.found.tell(Severity::error, error.what(), error.kind());
        start.exit_code = error.exit_code();
    }
    loaded.found.hide(loaded.secrets);
    return start;
}

int answer_as_json(const CheckOptions& options,
                   const deck::LoadedDeck& loaded,
                   const Epochs& epochs,
                   const Start& start) {
    CheckAnswer all{.deck = options.deck,
                    .exit_code = start.exit_code,
                    .found = loaded.found,
                    .loaded = &loaded,
                    .start = start.line,
                    .epochs = epochs};
    if (options.memory) {
        all.memory = options.memory(loaded.run, loaded.machine);
        all.exit_code = all.memory->fits ? start.exit_code : does_not_fit;
    }
    print(stdout, check_as_json(all));
    return all.exit_code;
}

/// Of a machine that nobody has described nothing where rates are missing.
std::string time_lines(const CheckOptions& options, const deck::LoadedDeck& loaded) {
    const bool is_known = plan::missing_rates(loaded.run, loaded.machine).empty();
    return is_known || !options.machine.empty() ? time_text(loaded.run, loaded.machine) : "";
}

int answer(const CheckOptions& options,
           const deck::LoadedDeck& loaded,
           const Epochs& epochs,
           const Start& start) {
    if (loaded.found.errors() + loaded.found.warnings() + loaded.found.notes() > 0) {
        print(stderr, loaded.found.print());
    }
    if (options.print) {
        print(stdout, loaded.effective);
    } else {
        print(stdout, summary(loaded.run, epochs));
        print(stdout, loaded.depths.empty() ? "" : fmt::format("ahead     {}\n", loaded.depths));
        print(stdout, start.line.empty() ? "" : fmt::format("start     {}\n", start.line));
        print(stdout, time_lines(options, loaded));
    }
    if (!options.memory) {
        return start.exit_code;
    }
    const auto memory = options.memory(loaded.run, loaded.machine);
    print(options.print ? stderr : stdout, memory.table + memory.infinity);
    return memory.fits ? start.exit_code : does_not_fit;
}

}  // namespace

int run_check(const CheckOptions& options) {
    if (!options.explain.empty()) {
        return explain(options.explain);
    }
    SourceSizes sizes;
    deck::LoadOptions load{
        .has_nccl = options.has_nccl || !options.machine.empty(),
        .needs_data = options.machine.empty(),
        .read_tokenizer = read_tokenizer,
        .read_source = [&sizes](const auto& source, const auto& key) { return sizes.read(source, key); },
        .has_token = has_token,
        .find_shared_files = find_shared_files,
        .choose_homes = options.choose_homes,
        .choose_depths = options.choose_depths,
        .choose_leases = options.choose_leases};
    if (options.machine.empty()) {  // as a run that starts here and now
        load.job_end = deck::find_own_job_end;
    } else {
        deck::Diagnostics found;
        load.machine = deck::load_called_machine(options.machine, found);
        if (!load.machine) {
            return refuse(options, found);
        }
    }
    if (options.size_job) {
        load = options.size_job(std::move(load));
    }
    deck::LoadedDeck loaded = deck::load(options.deck, options.overrides, load);
    if (!loaded.ok()) {
        return refuse(options, loaded.found);
    }
    Start start;
    if (options.machine.empty()) {
        warn_of_run_folder(loaded);
        start = look_ahead(options, loaded);
    }
    const auto epochs = sizes.epochs(loaded.run);
    return options.json ? answer_as_json(options, loaded, epochs, start)
                        : answer(options, loaded, epochs, start);
}

}  // namespace ziggurat::app
