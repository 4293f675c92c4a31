#include "app/deck/check.hpp"

#include <utility>

#include "app/bench/kept_peak.hpp"
#include "app/deck/deck_options.hpp"
#include "app/deck/job_size.hpp"
#include "app/deck/planning_progress.hpp"
#include "app/deck/remedy_search.hpp"
#include "app/output/output_style.hpp"
#include "app/start/built_for.hpp"
#include "base/progress.hpp"
#include "comm/built_with.hpp"
#include "data/corpus.hpp"
#include "data/fingerprint.hpp"
#include "kernels/attention.hpp"
#include "plan/report/memory_report.hpp"
#include "plan/search/choose_tensor_overlap.hpp"

namespace ziggurat::app {
namespace {

/// Returns the outlook that rank 0 of `train` would compute.
train::StartPreview preview_start(const deck::LoadedDeck& loaded) {
    const auto& run = loaded.run;
    const data::Corpus corpus{
        run.data, run.model.vocab, run.run.seed, data::open_source, data::Rest::left_out, {}, run.run.dir};
    corpus.check_tokens();
    const train::TrainingData data{train::for_manifest(data::fingerprints(corpus.files()), loaded.secrets),
                                   corpus.order(run.train.global_batch), run.train.global_batch};
    return train::preview_start({run, loaded.effective, data});
}

AttentionFacts cudnn_of_this_machine() {
    const auto library = kernels::attention_library();
    const bool is_usable = !library.name.empty() && library.unusable_reason.empty();
    const auto reason =
        library.unusable_reason.empty() ? "this program is built without cuDNN" : library.unusable_reason;
    return {.is_usable = is_usable, .name = library.name, .lack_reason = is_usable ? "" : reason};
}

}  // namespace

int check(const CheckOptions& options) {
    Progress progress{show_progress()};
    const auto kept_peak = options.machine.empty() ? kept_peaks_here() : KeptPeakOf{};
    return run_check(options,
                     {.size_job = [&](deck::LoadOptions load) { return sized(options, std::move(load)); },
                      .has_nccl = comm::has_nccl,
                      .cudnn = cudnn_of_this_machine(),
                      .kept_peak = kept_peak,
                      .choose_layout = choose_layout_with_progress(progress, kept_peak),
                      .choose_homes = choose_homes_with_progress(progress),
                      .choose_depths = choose_depths_with_progress(progress),
                      .choose_leases = choose_leases_with_progress(progress),
                      .choose_accumulation = choose_accumulation_with_progress(progress),
                      .choose_tensor_overlap = plan::choose_tensor_overlap,
                      .start = preview_start,
                      .memory =
                          [&](const deck::LoadedDeck& loaded, const deck::LoadOptions& load) {
                              const PlanningProgress watched{progress};
                              const auto time = options.search ? RemedyTime::unlimited : RemedyTime::limited;
                              return plan::memory_report(loaded.run, loaded.machine, {}, watched.watch(),
                                                         not_by_this_program_reason(loaded.run),
                                                         remedy_search(options, load, loaded, time));
                          }});
}

}  // namespace ziggurat::app
