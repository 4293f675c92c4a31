#include "train/preference/complete_scores.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/message.hpp"
#include "base/text/units.hpp"
#include "comm/control.hpp"
#include "train/preference/partial_scores.hpp"
#include "train/preference/reference_weights.hpp"
#include "train/preference/score_pairs.hpp"

namespace ziggurat::train {
namespace {

/// Returns the content of a file in the run directory; empty if it is not a regular file.
std::string content_of(const Reporter& reporter, std::string_view name) {
    const auto path = fmt::format("{}/{}", reporter.fd_path(), name);
    const bool is_file = irregular_file(path).empty();  // opening a pipe would block
    std::ifstream file{is_file ? path : std::string{}, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Takes the scores of the files in the run directory, if they exist.
///
/// Prints the reason if a file cannot be used. Returns the valid bytes of partial_scores_file, on rank 0.
/// Collective: over `world`
std::int64_t take_kept_scores(const comm::Context& world,
                              Reporter& reporter,
                              std::uint64_t key,
                              ReferenceScores& scores) {
    constexpr std::uint64_t key_of_all = 0;  // other ranks than 0 do not have the key
    std::string taken;
    std::int64_t partial_bytes = 0;
    if (world.rank() == 0) {
        const auto content = content_of(reporter, reference_scores_file);
        const auto reason = content.empty() ? "" : scores.take_file(content, key);
        if (!reason.empty()) {
            reporter.print_line(message(
                Severity::note, fmt::format("{} is computed again: {}", reference_scores_file, reason)));
        }
        partial_bytes = take_partial_scores(content_of(reporter, partial_scores_file), key, scores);
        const bool has_taken = (!content.empty() && reason.empty()) || partial_bytes > 0;
        taken = has_taken ? scores.to_file(key_of_all) : "";
    }
    taken = comm::broadcast(world, taken);
    if (!taken.empty()) {
        scores.take_file(taken, key_of_all);
    }
    return partial_bytes;
}

/// Writes the whole file, and removes the partial one.
void keep_all(Reporter& reporter, std::uint64_t key, const ReferenceScores& scores) {
    reporter.keep(reference_scores_file, scores.to_file(key));
    if (!reporter.fd_path().empty()) {
        ::unlink(fmt::format("{}/{}", reporter.fd_path(), partial_scores_file).c_str());
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

/// Evaluates the windows with the loaded weights, and keeps each score. Returns false if it is stopped.
bool score_and_keep(const ScoredRun& run,
                    const std::vector<data::Window>& windows,
                    const std::function<bool()>& stops,
                    std::optional<PartialScores>& kept,
                    ReferenceScores& scores) {
    auto& progress = run.reporter.busy("computes log-probabilities of the reference", "sequences");
    const auto keep = [&](std::span<const std::int64_t> pairs) {
        if (kept) {
            kept->add(pairs, scores);
        }
    };
    const bool is_complete = score_pairs(run, windows, stops, keep, progress, scores);
    if (!is_complete && kept) {
        kept->flush();
    }
    return is_complete;
}

void print_kept(const ScoredRun& run, const ReferenceScores& scores) {
    const auto known = std::ranges::count_if(
        scores.all(), [](const kernels::AnswerSums& score) { return !std::isnan(score.chosen); });
    run.reporter.print_line(
        fmt::format("stopped before step {}: the reference has scored {} of {} pairs, which {} keeps. Run "
                    "the same command again to continue with the others.",
                    run.resumed.progress.step + 1, format_grouped(known),
                    format_grouped(std::ssize(scores.all())), partial_scores_file));
}

}  // namespace

bool complete_scores(const ScoredRun& run,
                     std::span<const data::FileFingerprint> files,
                     const std::function<bool()>& stops,
                     const StopCheck& stop,
                     ReferenceScores& scores) {
    const auto& spec = run.spec;
    if (!spec.data.has_pairs) {
        return true;
    }
    const auto key = reference_key(spec, files);
    const auto partial_bytes = take_kept_scores(run.world, run.reporter, key, scores);
    const auto windows = unscored_windows(run, scores);
    if (windows.empty()) {
        if (partial_bytes > 0) {
            keep_all(run.reporter, key, scores);
        }
        return true;
    }
    const bool loads = !has_reference_weights(spec, run.resumed);
    try {
        if (loads) {
            load_reference_weights(spec, run.world, run.assembly, run.reporter, stop);
        }
        std::optional<PartialScores> kept;
        if (run.world.rank() == 0) {
            kept.emplace(fmt::format("{}/{}", run.reporter.fd_path(), partial_scores_file), partial_bytes,
                         key, std::ssize(scores.all()));
        }
        if (!score_and_keep(run, windows, stops, kept, scores)) {
            print_kept(run, scores);
            return false;
        }
        keep_all(run.reporter, key, scores);
        if (loads) {
            load_again(spec, run.resumed, run.world, run.assembly.state(), run.reporter, stop);
            set_missing_values(spec, run.resumed, run.assembly);
        }
    } catch (const Stopped& stopped) {
        if (!stopped.is_on_all_ranks()) {
            throw;
        }
        run.reporter.print_line(message(Severity::note, stopped.what()));
        return false;
    } catch (const Error& error) {
        throw Error{error.kind(), run.reporter.with_display_path(error.what()), error.where()};
    }
    return true;
}

}  // namespace ziggurat::train
