#include "train/preference/complete_scores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "comm/control.hpp"
#include "train/preference/reference_weights.hpp"
#include "train/preference/score_pairs.hpp"

namespace ziggurat::train {
namespace {

/// Returns the content of the file in the run directory; empty if it does not exist.
///
/// Collective: over `world`
std::string read_kept_scores(const comm::Context& world, const Reporter& reporter) {
    std::string content;
    if (world.rank() == 0) {
        const auto path = fmt::format("{}/{}", reporter.fd_path(), reference_scores_file);
        const bool is_file = irregular_file(path).empty();  // opening a pipe would block
        std::ifstream file{is_file ? path : std::string{}, std::ios::binary};
        content.assign(std::istreambuf_iterator<char>{file}, {});
    }
    return comm::broadcast(world, content);
}

/// Takes the scores of `kept`, or prints the reason why they do not apply.
void take_kept_scores(const std::string& kept,
                      const ReferenceKey& key,
                      Reporter& reporter,
                      ReferenceScores& scores) {
    const auto reason = kept.empty() ? std::string{} : scores.take_file(kept, key);
    if (!reason.empty()) {
        reporter.print_line(
            message(Severity::note, fmt::format("{} is computed again: {}", reference_scores_file, reason)));
    }
}

/// Returns rank 0's value on all ranks.
std::uint64_t of_first(const comm::Context& world, const std::function<std::uint64_t()>& value) {
    std::uint64_t hash = world.rank() == 0 ? value() : 0;
    comm::all_reduce_sum(world, {&hash, 1});
    return hash;
}

/// Returns the key of the run's reference without its weights. Collective: over `run.world`
ReferenceKey key_of(const ScoredRun& run, std::span<const data::FileFingerprint> files) {
    const auto& model = run.spec.model;
    const auto& objective = run.spec.train.objective;
    const bool is_named = objective.reference == spec::ReferenceKind::path;
    const auto inputs =
        of_first(run.world, [&] { return inputs_key(run.spec, file_hashes(run.corpus.files(), files)); });
    const auto source = of_first(run.world, [&] {
        return is_named ? source_key(objective.reference_path, objective.is_reference_published)
               : run.resumed.weights_from.empty() ? source_key(model.init_path, model.is_init_published)
                                                  : source_key(run.resumed.weights_from, false);
    });
    return {.inputs = inputs, .weights = 0, .source = source};
}

[[noreturn]] void refuse_other_start(const spec::RunSpec& spec) {
    throw Error{
        ErrorKind::deck,
        fmt::format("the weights of '{}' (model.init) are not those that this run started from, which are "
                    "its reference: {} lacks pairs, and has scores of other weights. Restore these weights, "
                    "name the checkpoint that the run started from, or start from scratch with "
                    "run.resume=never.",
                    printable(spec.model.init_path), reference_scores_file)};
}

std::string other_base(const spec::RunSpec& spec) {
    return fmt::format(
        "the weights of '{}' (model.init) are not those under the adapters of this run: they are "
        "the reference from here on. Restore the weights that the run started from if it was "
        "trained with these.",
        printable(spec.model.init_path));
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
    const auto kept = read_kept_scores(run.world, run.reporter);
    const auto key_of_kept = key_of_file(kept);
    auto key = key_of(run, files);
    const bool loads = !has_reference_weights(spec, run.resumed);
    // A run's own checkpoint and the file in its folder have the same start.
    const bool is_own_start =
        run.resumed.is_own && spec.train.objective.reference != spec::ReferenceKind::path;
    const auto hash_weights = [&] {
        run.assembly.train_executor().finish();  // parameters may still be in transfer to other ranks
        return reference_weights_hash(spec, run.assembly);
    };
    // No step changes the base of adapters, so any state of the run has it.
    const bool has_base = spec.train.objective.reference == spec::ReferenceKind::adapters_off;
    if (!loads || has_base) {
        key.weights = hash_weights();
    } else if (key_of_kept.inputs == key.inputs &&
               (is_own_start || (key.source != 0 && key_of_kept.source == key.source))) {
        key.weights = key_of_kept.weights;
    }
    if (key.weights != 0) {
        take_kept_scores(kept, key, run.reporter, scores);
    }
    auto windows = unscored_windows(run, scores);
    if (windows.empty()) {
        return;
    }
    if (loads) {
        const auto from = load_reference_weights(spec, run.world, run.assembly, run.reporter);
        if (!from.empty()) {
            key.source = of_first(run.world, [&] { return source_key(from, false); });
        }
        if (const auto loaded = hash_weights(); loaded != key.weights) {
            if (is_own_start && key_of_kept.inputs == key.inputs && key_of_kept.weights == key.weights) {
                refuse_other_start(spec);
            }
            if (has_base) {
                run.reporter.print_line(message(Severity::warning, other_base(spec)));
            }
            key.weights = loaded;
            scores.forget();
            take_kept_scores(kept, key, run.reporter, scores);
            windows = unscored_windows(run, scores);
        }
    }
    if (!windows.empty()) {
        auto& progress = run.reporter.busy("computes log-probabilities of the reference", "sequences");
        score_pairs(run, windows, stops, progress, scores);
    }
    if (loads) {
        load_again(spec, run.resumed, run.world, run.assembly.state(), run.reporter);
        set_missing_values(spec, run.resumed, run.assembly);
    }
    run.reporter.keep(reference_scores_file, scores.to_file(key));  // also what a stopped run has computed
}

}  // namespace ziggurat::train
