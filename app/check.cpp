#include "app/check.hpp"

#include <utility>

#include "app/built_for.hpp"
#include "app/commands.hpp"
#include "app/job_size.hpp"
#include "app/known_peaks.hpp"
#include "app/terminal.hpp"
#include "app/watched.hpp"
#include "base/progress.hpp"
#include "comm/built_with.hpp"
#include "data/corpus.hpp"
#include "data/fingerprint.hpp"
#include "kernels/attention.hpp"
#include "plan/memory_report.hpp"

namespace ziggurat::app {
namespace {

/// Returns the outlook that rank 0 of `train` would compute.
train::StartOutlook look_ahead(const deck::LoadedDeck& loaded) {
    const auto& run = loaded.run;
    const data::Corpus corpus{run.data, run.model.vocab, run.run.seed};
    corpus.check_tokens();
    const train::TrainingData data{train::for_manifest(data::fingerprints(corpus.files()), loaded.secrets),
                                   corpus.order()};
    return train::look_ahead({run, loaded.effective, data});
}

AttentionFacts cudnn_of_this_machine() {
    const auto library = kernels::attention_library();
    const bool is_usable = !library.name.empty() && library.lack.empty();
    const auto reason = library.lack.empty() ? "this program is built without cuDNN" : library.lack;
    return {.is_usable = is_usable, .name = library.name, .lack_reason = is_usable ? "" : reason};
}

}  // namespace

int check(const Arguments& arguments) {
    Progress progress{show_progress()};
    return run_check(
        {.deck = arguments.deck,
         .overrides = arguments.overrides,
         .size_job =
             [&](deck::LoadOptions load) {
                 return sized({arguments.deck, arguments.overrides}, std::move(load), arguments.ranks,
                              arguments.nodes);
             },
         .has_nccl = comm::has_nccl,
         .cudnn = cudnn_of_this_machine(),
         .machine = arguments.machine,
         .kept_peak =
             [](const spec::RunSpec& run) { return KnownPeaks{deck::process_environment}.of(way_of(run)); },
         .print = arguments.print,
         .json = arguments.json,
         .explain = arguments.explain,
         .choose_homes = watched_choice_of_homes(progress),
         .choose_depths = watched_choice_of_depths(progress),
         .choose_leases = watched_choice_of_leases(progress),
         .start = look_ahead,
         .memory =
             [&](const spec::RunSpec& run, const spec::MachineSpec& machine) {
                 return plan::memory_report(run, machine, {}, Watched{progress}.watch(),
                                            why_not_by_this_program(run));
             }});
}

}  // namespace ziggurat::app
