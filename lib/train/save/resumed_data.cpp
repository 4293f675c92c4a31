#include "train/save/resumed_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "data/order/order_weights.hpp"
#include "data/order/sample_order.hpp"
#include "train/save/order_change.hpp"
#include "train/save/source_match.hpp"

namespace ziggurat::train {
namespace {

std::string describe(const data::FileChange& change) {
    if (change.bytes_before < 0) {
        return fmt::format("'{}' is new, with {} bytes", change.path, format_grouped(change.bytes_after));
    }
    if (change.bytes_after < 0) {
        return fmt::format("'{}', which had {} bytes, no longer exists", change.path,
                           format_grouped(change.bytes_before));
    }
    if (change.bytes_before == change.bytes_after) {
        return fmt::format("'{}' has different content (still {} bytes)", change.path,
                           format_grouped(change.bytes_before));
    }
    return fmt::format("'{}' had {} bytes and has {} now", change.path, format_grouped(change.bytes_before),
                       format_grouped(change.bytes_after));
}

/// Describes the first change, and the number of further changes.
std::string describe(const std::vector<data::FileChange>& changes) {
    const auto first = describe(changes.front());
    return changes.size() == 1 ? first
                               : fmt::format("{}; {} more files have changed", first, changes.size() - 1);
}

/// Describes the source `now` that replaces the source `before`.
std::string describe_replaced(const KnownSource& before, KnownSource now) {
    const bool is_renamed = std::ranges::none_of(now.files, [&](const data::FileFingerprint& file) {
        return std::ranges::find(before.files, file.path, &data::FileFingerprint::path) != before.files.end();
    });
    if (is_renamed) {
        return fmt::format("'{}' ({} bytes) replaces '{}' ({} bytes), which has different content",
                           now.name(), format_grouped(now.bytes()), before.name(),
                           format_grouped(before.bytes()));
    }
    for (auto& file : now.files) {
        file.key = before.key;
    }
    const auto changes = data::changes(before.files, now.files);
    return changes.empty() ? fmt::format("'{}' is read as {} tokens, previously as {}", now.name(),
                                         format_grouped(now.tokens), format_grouped(before.tokens))
                           : describe(changes);
}

/// Returns the validation files whose bytes only one of the two lists has.
std::vector<data::FileChange> validation_changes(std::vector<data::FileFingerprint> before,
                                                 std::vector<data::FileFingerprint> now) {
    const auto is_training = [](const data::FileFingerprint& file) {
        return file.key.starts_with("data.train");
    };
    std::erase_if(before, is_training);
    std::erase_if(now, is_training);
    std::erase_if(now, [&](const data::FileFingerprint& file) {
        const auto same = std::ranges::find_if(
            before, [&](const data::FileFingerprint& other) { return other.is_of_same_bytes(file); });
        const bool is_known = same != before.end();
        if (is_known) {
            before.erase(same);
        }
        return is_known;
    });
    return data::changes(before, now);
}

/// Warns of changed sources without files: only the deck describes them.
void warn_of_unknown_sources(const std::vector<checkpoint::DeckChange>& deck,
                             const std::vector<KnownSource>& sources,
                             DataVerdict& verdict) {
    for (const auto& change : deck) {
        const auto at = std::ranges::find(sources, change.key, &KnownSource::key);
        if (at != sources.end() && at->files.empty()) {
            verdict.warnings.push_back(checkpoint::describe(change) +
                                       ": only the calling program can check whether its tokens changed.");
        }
    }
}

/// Returns the order of a run from scratch, with changes of weights at the samples of the resumed run's
/// steps.
data::DataOrderState present_order(const TrainingData& now, const checkpoint::TrainingProgress& progress) {
    auto order = now.order;
    data::shift_changes(order, 0, progress.next_sample - progress.step * now.global_batch);
    return order;
}

/// Returns the order that follows a checkpoint of an earlier version, which did not record its order.
///
/// It is the one that such a version used for the present sources. If weights change, a new order begins.
data::DataOrderState order_after_unknown(const data::DataOrderState& present, std::int64_t next_sample) {
    auto earlier = present;
    earlier.mix = data::MixRule::nested;
    for (auto& source : earlier.sources) {
        source.changes.clear();
    }
    if (data::change_samples(present).empty() || !present.is_known()) {
        return earlier;
    }
    const auto shares = data::shares_at(present, 0);
    for (std::size_t s = 0; s < shares.size(); ++s) {
        earlier.sources[s].weight = shares[s];
    }
    auto next = present;
    data::begin_at(next, next_sample);
    const data::TrainingOrder order{earlier};
    std::vector<std::int64_t> counts(shares.size());
    order.count(next_sample, counts);
    for (std::size_t s = 0; s < counts.size(); ++s) {
        next.sources[s].begin = order.position_after(static_cast<int>(s), counts[s]);
        next.sources[s].earlier = counts[s];
    }
    return next;
}

}  // namespace

std::vector<data::FileFingerprint> for_manifest(std::vector<data::FileFingerprint> files,
                                                std::span<const Secret> secrets) {
    for (auto& file : files) {
        file.path = printable(without_secrets(file.path, secrets));
    }
    return files;
}

DataVerdict check_data(const checkpoint::Manifest& manifest,
                       const std::vector<checkpoint::DeckChange>& deck,
                       const TrainingData& now,
                       bool is_accepted) {
    DataVerdict verdict;
    const auto present_data = present_order(now, manifest.progress);
    verdict.order = order_after_unknown(present_data, manifest.progress.next_sample);
    const auto& order = manifest.progress.order;
    if (manifest.data.empty() && !order.is_known()) {
        verdict.notes.emplace_back(
            "the checkpoint has no record of its data files (another version wrote it): changes of these "
            "files cannot be detected");
        return verdict;
    }
    const auto& files = now.files;
    const auto before = training_sources(manifest.data, order);
    const auto present = training_sources(files, now.order);
    const auto match = match_sources(before, present);
    const auto step = format_grouped(manifest.progress.step);
    for (std::size_t s = 0; s < present.size(); ++s) {
        const auto& [index, is_same] = match.sources[s];
        if (index == SourceMatch::none || is_same) {
            continue;
        }
        const auto& replaced = before[index];
        const auto what =
            fmt::format("{}: the training data has changed since the checkpoint of step {} ({})",
                        present[s].key, step, describe_replaced(replaced, present[s]));
        if (!is_accepted) {
            verdict.refusal = what +
                              ". Restore the earlier data, or set run.accept_data_change=true to continue "
                              "with the present data, in another order of samples.";
            return verdict;
        }
        verdict.warnings.push_back(fmt::format(
            "{}. run.accept_data_change is set: the run continues with the present data, {}.", what,
            goes_on_in_place(replaced, present[s])
                ? "after the same number of tokens: samples of this epoch may be repeated or skipped"
                : "from its start"));
    }
    warn_of_unknown_sources(deck, present, verdict);
    if (order.is_known() && now.order.is_known()) {
        report_order_change({order, before, manifest.progress.step, manifest.progress.next_sample},
                            {present_data, present}, match, verdict);
    } else if (std::ranges::any_of(deck, [](const checkpoint::DeckChange& change) {
                   return change.key.starts_with("data.train") || change.key == "data.seq" ||
                          change.key == "data.held_out" || change.key == "data.shuffle" ||
                          change.key == "run.seed";
               })) {
        verdict.warnings.push_back(fmt::format(
            "the checkpoint does not record how far each source was read (another version wrote it): from "
            "step {} on, the sample order is that of a run that started with the present data section; "
            "samples may be repeated or skipped",
            format_grouped(manifest.progress.step + 1)));
    }
    const auto validation = validation_changes(manifest.data, files);
    if (!validation.empty()) {
        verdict.warnings.push_back(fmt::format(
            "{}: the validation data has changed since the checkpoint of step {} ({}): losses before and "
            "after are not comparable",
            validation.front().key, step, describe(validation)));
    }
    return verdict;
}

}  // namespace ziggurat::train
