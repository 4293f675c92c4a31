#include "app/check.hpp"

#include "app/commands.hpp"
#include "app/launch.hpp"
#include "app/terminal.hpp"
#include "app/watched.hpp"
#include "base/progress.hpp"
#include "comm/built_with.hpp"
#include "data/corpus.hpp"
#include "data/fingerprint.hpp"
#include "plan/memory_report.hpp"

namespace ziggurat::app {
namespace {

/// As `train` would on rank 0.
train::StartOutlook look_ahead(const deck::LoadedDeck& loaded) {
    const auto& run = loaded.run;
    const data::Corpus corpus{run.data, run.model.vocab, run.run.seed};
    const train::TrainingData data{train::for_manifest(data::fingerprints(corpus.files()), loaded.secrets),
                                   corpus.order()};
    return train::look_ahead({run, loaded.effective, data}, false);
}

}  // namespace

int check(const Arguments& arguments) {
    Progress progress{show_progress()};
    return run_check(
        {.deck = arguments.deck,
         .overrides = arguments.overrides,
         .ranks = arguments.ranks.value_or(0),
         .threads = arguments.machine.empty() ? threads_if_started(arguments.ranks.value_or(0)) : 0,
         .has_nccl = comm::has_nccl,
         .machine = arguments.machine,
         .print = arguments.print,
         .json = arguments.json,
         .explain = arguments.explain,
         .choose_homes = watched_choice_of_homes(progress),
         .choose_depths = watched_choice_of_depths(progress),
         .choose_leases = watched_choice_of_leases(progress),
         .start = look_ahead,
         .memory = [&](const spec::RunSpec& run, const spec::MachineSpec& machine) {
             return plan::memory_report(run, machine, {}, Watched{progress}.watch());
         }});
}

}  // namespace ziggurat::app
