#include "train/preference/complete_scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/file_kind.hpp"
#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "train/preference/reference_weights.hpp"
#include "train/preference/score_pairs.hpp"

namespace ziggurat::train {
namespace {

/// Takes the scores of the file in the run directory, if there is one.
///
/// Prints the reason if a file cannot be used. Collective: over `world`
void take_kept_scores(const comm::Context& world,
                      Reporter& reporter,
                      std::uint64_t key,
                      ReferenceScores& scores) {
    constexpr std::uint64_t key_of_all = 0;  // other ranks than 0 do not have the key
    std::string taken;
    if (world.rank() == 0) {
        const auto path = fmt::format("{}/{}", reporter.fd_path(), reference_scores_file);
        const bool is_file = irregular_file(path).empty();  // opening a pipe would block
        std::ifstream file{is_file ? path : std::string{}, std::ios::binary};
        const std::string content{std::istreambuf_iterator<char>{file}, {}};
        const auto reason = content.empty() ? "" : scores.take_file(content, key);
        if (!reason.empty()) {
            reporter.print_line(message(
                Severity::note, fmt::format("{} is computed again: {}", reference_scores_file, reason)));
        } else if (!content.empty()) {
            taken = scores.to_file(key_of_all);
        }
    }
    taken = comm::broadcast(world, taken);
    if (!taken.empty()) {
        scores.take_file(taken, key_of_all);
    }
}

/// Returns the windows of the run that have pairs with unknown scores.
std::vector<data::Window> unscored_windows(const ScoredRun& run, const ReferenceScores& scores) {
    const auto& spec = run.spec;
    auto windows = run.corpus.windows(run.order, run.first_sample, run.end_sample,
                                      spec.validate.batches * spec.train.global_batch);
    std::erase_if(windows, [&](const data::Window& window) {
        return std::ranges::all_of(run.corpus.pairs_of(window),
                                   [&](std::int64_t pair) { return scores.knows(pair); });
    });
    return windows;
}

}  // namespace

void complete_scores(const ScoredRun& run,
                     std::span<const data::FileFingerprint> files,
                     const std::function<bool()>& stops,
                     ReferenceScores& scores) {
    const auto& spec = run.spec;
    if (!spec.data.has_pairs) {
        return;
    }
    const auto key = reference_key(spec, files);
    take_kept_scores(run.world, run.reporter, key, scores);
    const auto windows = unscored_windows(run, scores);
    if (windows.empty()) {
        return;
    }
    const bool loads = !has_reference_weights(spec, run.resumed);
    if (loads) {
        load_reference_weights(spec, run.world, run.assembly, run.reporter);
    }
    auto& progress = run.reporter.busy("computes log-probabilities of the reference", "sequences");
    score_pairs(run, windows, stops, progress, scores);
    if (loads) {
        load_again(spec, run.resumed, run.world, run.assembly.state(), run.reporter);
        set_missing_values(spec, run.resumed, run.assembly);
    }
    run.reporter.keep(reference_scores_file, scores.to_file(key));  // also what a stopped run has computed
}

}  // namespace ziggurat::train
