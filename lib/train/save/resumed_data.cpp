#include "train/save/resumed_data.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.hpp"
#include "base/units.hpp"
#include "train/save/order_change.hpp"
#include "train/save/source_match.hpp"

namespace ziggurat::train {
namespace {

std::string describe(const data::FileChange& change) {
    if (change.bytes_before < 0) {
        return fmt::format("'{}' is new, with {} bytes", change.path, format_grouped(change.bytes_after));
    }
    if (change.bytes_after < 0) {
        return fmt::format("'{}', which had {} bytes, is not there any more", change.path,
                           format_grouped(change.bytes_before));
    }
    if (change.bytes_before == change.bytes_after) {
        return fmt::format("'{}' has other bytes, {} then and now", change.path,
                           format_grouped(change.bytes_before));
    }
    return fmt::format("'{}' had {} bytes and has {} now", change.path, format_grouped(change.bytes_before),
                       format_grouped(change.bytes_after));
}

/// The first change, and how many more there are.
std::string describe(const std::vector<data::FileChange>& changes) {
    const auto first = describe(changes.front());
    return changes.size() == 1 ? first
                               : fmt::format("{}; {} more files have changed", first, changes.size() - 1);
}

/// What stands in the place of another source.
std::string describe_replaced(const KnownSource& before, KnownSource now) {
    const bool is_renamed = std::ranges::none_of(now.files, [&](const data::FileFingerprint& file) {
        return std::ranges::find(before.files, file.path, &data::FileFingerprint::path) != before.files.end();
    });
    if (is_renamed) {
        return fmt::format("'{}' with {} bytes stands where '{}' with {} bytes, which are others, did",
                           now.name(), format_grouped(now.bytes()), before.name(),
                           format_grouped(before.bytes()));
    }
    for (auto& file : now.files) {
        file.key = before.key;
    }
    const auto changes = data::changes(before.files, now.files);
    return changes.empty() ? fmt::format("'{}' is read as {} tokens, and was as {}", now.name(),
                                         format_grouped(now.tokens), format_grouped(before.tokens))
                           : describe(changes);
}

/// Validation files with bytes that no validation file of the checkpoint had, and the other way round.
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

/// Sources without files, of which the deck alone says what they are.
void warn_of_unknown_sources(const std::vector<checkpoint::DeckChange>& deck,
                             const std::vector<KnownSource>& sources,
                             DataVerdict& verdict) {
    for (const auto& change : deck) {
        const auto at = std::ranges::find(sources, change.key, &KnownSource::key);
        if (at != sources.end() && at->files.empty()) {
            verdict.warnings.push_back(
                checkpoint::describe(change) +
                ": whether its tokens are others is for the program to say that brings them.");
        }
    }
}

}  // namespace

std::vector<data::FileFingerprint> for_manifest(std::vector<data::FileFingerprint> files,
                                                std::span<const Secret> secrets) {
    for (auto& file : files) {
        file.path = printable(without_secrets(file.path, secrets));
    }
    return files;
}

DataVerdict judge_data(const checkpoint::Manifest& manifest,
                       const std::vector<checkpoint::DeckChange>& deck,
                       const TrainingData& now,
                       bool is_accepted) {
    DataVerdict verdict;
    verdict.order = now.order;
    const auto& order = manifest.progress.order;
    if (manifest.data.empty() && !order.is_known()) {
        verdict.notes.emplace_back(
            "the checkpoint does not say what its data files were like (another version wrote it): whether "
            "they have changed since is not known");
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
        const auto& replaced = before[static_cast<std::size_t>(index)];
        const auto what =
            fmt::format("{}: the training data has changed since the checkpoint of step {} ({})",
                        present[s].key, step, describe_replaced(replaced, present[s]));
        if (!is_accepted) {
            verdict.refusal = what +
                              ". Put back what was there, or set run.accept_data_change=true to go on with "
                              "what is there now, in another order of samples.";
            return verdict;
        }
        verdict.warnings.push_back(fmt::format(
            "{}. As run.accept_data_change says, the run goes on with what is there now, {}.", what,
            goes_on_in_place(replaced, present[s])
                ? "behind as many tokens as it was: samples of this epoch may come twice, or not at all"
                : "from its beginning"));
    }
    warn_of_unknown_sources(deck, present, verdict);
    if (order.is_known() && now.order.is_known()) {
        tell_order_change({order, before, manifest.progress.step, manifest.progress.next_sample},
                          {now.order, present}, match, verdict);
    } else if (std::ranges::any_of(deck, [](const checkpoint::DeckChange& change) {
                   return change.key.starts_with("data.train") || change.key == "data.seq" ||
                          change.key == "data.held_out" || change.key == "data.shuffle" ||
                          change.key == "run.seed";
               })) {
        verdict.warnings.push_back(fmt::format(
            "the checkpoint does not say how far each source was read (another version wrote it): from step "
            "{} on, samples come as if the run had begun with the present data section, and some may come "
            "twice, or not at all",
            format_grouped(manifest.progress.step + 1)));
    }
    const auto validation = validation_changes(manifest.data, files);
    if (!validation.empty()) {
        verdict.warnings.push_back(fmt::format(
            "{}: the validation data has changed since the checkpoint of step {} ({}): losses before and "
            "after do not compare",
            validation.front().key, step, describe(validation)));
    }
    return verdict;
}

}  // namespace ziggurat::train
