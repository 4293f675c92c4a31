#include "train/preference/complete_scores.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "comm/control.hpp"
#include "train/preference/partial_scores.hpp"
#include "train/preference/reference_weights.hpp"
#include "train/preference/score_pairs.hpp"

namespace ziggurat::train {
namespace {

/// Files of scores in the run directory.
struct KeptScores {
    std::string whole, partial;      ///< their contents; empty if they do not exist
    std::int64_t partial_bytes = 0;  ///< valid bytes of `partial`
};

/// Returns the content of a file in the run directory; empty if it is not a regular file.
std::string content_of(const Reporter& reporter, std::string_view name) {
    const auto path = fmt::format("{}/{}", reporter.fd_path(), name);
    const bool is_file = irregular_file(path).empty();  // opening a pipe would block
    std::ifstream file{is_file ? path : std::string{}, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// Reads the files on rank 0. Collective: over `world`
KeptScores read_kept_scores(const comm::Context& world, const Reporter& reporter) {
    const auto read = [&](std::string_view name) {
        return comm::broadcast(world, world.rank() == 0 ? content_of(reporter, name) : std::string{});
    };
    KeptScores kept;
    kept.whole = read(reference_scores_file);
    kept.partial = read(partial_scores_file);
    return kept;
}

/// Returns the key of the partial file: the hash of all content that scores depend on.
std::uint64_t partial_key(const ReferenceKey& key) {
    const std::array<std::uint64_t, 2> parts{key.inputs, key.weights};
    return XXH3_64bits(parts.data(), sizeof parts);
}

/// Takes the kept scores, or prints the reasons why they do not apply.
void take_kept_scores(KeptScores& kept,
                      const ReferenceKey& key,
                      Reporter& reporter,
                      ReferenceScores& scores) {
    const auto note = [&](std::string_view file, const std::string& reason) {
        reporter.print_line(message(Severity::note, fmt::format("{} is computed again: {}", file, reason)));
    };
    const auto reason = kept.whole.empty() ? std::string{} : scores.take_file(kept.whole, key);
    if (!reason.empty()) {
        note(reference_scores_file, reason);
    }
    kept.partial_bytes = take_partial_scores(kept.partial, partial_key(key), scores);
    if (!kept.partial.empty() && kept.partial_bytes == 0) {
        note(partial_scores_file, "it is damaged, or has scores of other weights, pairs or settings");
    }
}

/// Writes the whole file, and removes the partial one.
void keep_all(Reporter& reporter, const ReferenceKey& key, const ReferenceScores& scores) {
    reporter.keep(reference_scores_file, scores.to_file(key));
    if (!reporter.fd_path().empty()) {
        ::unlink(fmt::format("{}/{}", reporter.fd_path(), partial_scores_file).c_str());
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

/// Evaluates the windows with the loaded weights, and keeps each score. Returns false if it is stopped.
bool score_and_keep(const ScoredRun& run,
                    const std::vector<data::Window>& windows,
                    const std::function<bool()>& stops,
                    const ReferenceKey& key,
                    const KeptScores& before,
                    ReferenceScores& scores) {
    std::optional<PartialScores> kept;
    if (run.world.rank() == 0) {
        kept.emplace(fmt::format("{}/{}", run.reporter.fd_path(), partial_scores_file), before.partial_bytes,
                     partial_key(key), std::ssize(scores.all()));
    }
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

std::int64_t num_known(const ReferenceScores& scores) {
    return std::ranges::count_if(scores.all(),
                                 [](const kernels::AnswerSums& score) { return !std::isnan(score.chosen); });
}

void print_kept(const ScoredRun& run, const ReferenceScores& scores) {
    run.reporter.print_line(
        fmt::format("stopped before step {}: the reference has scored {} of {} pairs, which {} keeps. Run "
                    "the same command again to continue with the others.",
                    run.resumed.progress.step + 1, format_grouped(num_known(scores)),
                    format_grouped(std::ssize(scores.all())), partial_scores_file));
}

/// Pass of the reference model over the pairs whose scores are unknown.
class ReferencePass {
  public:
    /// Collective: over `run.world`
    ReferencePass(const ScoredRun& run, std::span<const data::FileFingerprint> files, ReferenceScores& scores)
        : run_{run},
          scores_{scores},
          kept_{read_kept_scores(run.world, run.reporter)},
          key_of_kept_{key_of_file(kept_.whole)},
          key_{key_of(run, files)},
          has_base_{run.spec.train.objective.reference == spec::ReferenceKind::adapters_off},
          is_own_start_{run.resumed.is_own &&
                        run.spec.train.objective.reference != spec::ReferenceKind::path},
          loads_{!has_reference_weights(run.spec, run.resumed)} {}

    /// Takes kept scores, if the weights of the reference are known before they are loaded.
    ///
    /// No step changes the base of adapters, so any state of the run has it.
    void take_kept() {
        if (!loads_ || has_base_) {
            key_.weights = hash_weights();
        } else if (key_of_kept_.inputs == key_.inputs &&
                   (is_own_start_ || (key_.source != 0 && key_of_kept_.source == key_.source))) {
            key_.weights = key_of_kept_.weights;
        }
        if (key_.weights != 0) {
            take_kept_scores(kept_, key_, run_.reporter, scores_);
        }
        windows_ = unscored_windows(run_, scores_);
    }

    bool is_complete() const { return windows_.empty(); }

    /// Writes the whole file if a partial one has completed it.
    void keep_completed() {
        if (kept_.partial_bytes > 0) {
            keep_all(run_.reporter, key_, scores_);
        }
    }

    /// Computes the unknown scores. Returns false if all ranks were stopped.
    bool complete(const std::function<bool()>& stops, const StopCheck& stop) {
        if (loads_) {
            load_reference(stop);
        }
        if (!windows_.empty() && !score_and_keep(run_, windows_, stops, key_, kept_, scores_)) {
            print_kept(run_, scores_);
            return false;
        }
        keep_all(run_.reporter, key_, scores_);
        if (loads_) {
            load_again(run_.spec, run_.resumed, run_.world, run_.assembly.state(), run_.reporter, stop);
            set_missing_values(run_.spec, run_.resumed, run_.assembly);
        }
        return true;
    }

  private:
    std::uint64_t hash_weights() const {
        run_.assembly.train_executor().finish();  // parameters may still be in transfer to other ranks
        return reference_weights_hash(run_.spec, run_.assembly);
    }

    /// Loads the weights of the reference. If they are not the expected ones, kept scores are taken again.
    void load_reference(const StopCheck& stop) {
        const auto from =
            load_reference_weights(run_.spec, run_.world, run_.assembly, run_.reporter, need(), stop);
        if (!from.empty()) {
            key_.source = of_first(run_.world, [&] { return source_key(from, false); });
        }
        const auto loaded = hash_weights();
        if (loaded == key_.weights) {
            return;
        }
        const bool has_scores_of_start =
            key_of_kept_.inputs == key_.inputs && key_of_kept_.weights == key_.weights;
        if (is_own_start_ && has_scores_of_start) {
            refuse_other_start(run_.spec);
        }
        if (has_base_) {
            run_.reporter.print_line(message(Severity::warning, other_base(run_.spec)));
        }
        key_.weights = loaded;
        scores_.forget();
        take_kept_scores(kept_, key_, run_.reporter, scores_);
        windows_ = unscored_windows(run_, scores_);
    }

    /// Returns the reason why the weights of the reference are needed.
    std::string need() const {
        std::set<std::int64_t> pairs;
        for (const auto& window : windows_) {
            for (const auto pair : run_.corpus.pairs_of(window)) {
                if (!scores_.knows(pair)) {
                    pairs.insert(pair);
                }
            }
        }
        const auto known = num_known(scores_);
        return known == 0 ? fmt::format("run.dir has no {} that applies", reference_scores_file)
                          : fmt::format(
                                "{} has the scores of {} pairs, and the steps up to {} need {} more. Restore "
                                "the weights, or end at a step whose pairs are scored (train.steps)",
                                reference_scores_file, format_grouped(known), run_.spec.train.steps,
                                format_grouped(std::ssize(pairs)));
    }

    const ScoredRun& run_;
    ReferenceScores& scores_;
    KeptScores kept_;
    ReferenceKey key_of_kept_;
    ReferenceKey key_;
    bool has_base_;
    /// A run's own checkpoint and the file in its folder have the same start.
    bool is_own_start_;
    bool loads_;
    std::vector<data::Window> windows_;
};

}  // namespace

bool complete_scores(const ScoredRun& run,
                     std::span<const data::FileFingerprint> files,
                     const std::function<bool()>& stops,
                     const StopCheck& stop,
                     ReferenceScores& scores) {
    if (!run.spec.data.has_pairs) {
        return true;
    }
    ReferencePass pass{run, files, scores};
    pass.take_kept();
    if (pass.is_complete()) {
        pass.keep_completed();
        return true;
    }
    try {
        return pass.complete(stops, stop);
    } catch (const Stopped& stopped) {
        if (!stopped.is_on_all_ranks()) {
            throw;
        }
        run.reporter.print_line(message(Severity::note, stopped.what()));
        return false;
    } catch (const Error& error) {
        throw Error{error.kind(), run.reporter.with_display_path(error.what()), error.where()};
    }
}

}  // namespace ziggurat::train
