#include "train/save/resumed_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/printable.hpp"
#include "base/units.hpp"

namespace ziggurat::train {
namespace {

/// The deck names another source under `key` (data.train[0].path) than the deck of the checkpoint did.
bool is_named_otherwise(const std::string& key, const std::vector<checkpoint::DeckChange>& deck) {
    const std::string source = key.substr(0, key.rfind('.'));
    const std::string list = key.substr(0, key.find('['));
    return std::ranges::any_of(deck, [&](const checkpoint::DeckChange& change) {
        return change.key == key || change.key == source || change.key == list ||
               change.key == fmt::format("{}.format", source);
    });
}

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
                       const std::vector<data::FileFingerprint>& files,
                       bool is_accepted) {
    DataVerdict verdict;
    if (manifest.data.empty()) {
        verdict.notes.emplace_back(
            "the checkpoint does not say what its data files were like (another version wrote it): whether "
            "they have changed since is not known");
        return verdict;
    }
    std::vector<data::FileChange> training;
    std::vector<data::FileChange> validation;
    for (const auto& change : data::changes(manifest.data, files)) {
        if (!is_named_otherwise(change.key, deck)) {
            (change.key.starts_with("data.train") ? training : validation).push_back(change);
        }
    }
    const auto step = format_grouped(manifest.progress.step);
    if (!training.empty() && is_accepted) {
        verdict.warnings.push_back(fmt::format(
            "{}: the training data has changed since the checkpoint of step {} ({}). The run goes on with "
            "sample {} of the order that the data has now, as run.accept_data_change says: samples of this "
            "epoch may come twice, or not at all.",
            training.front().key, step, describe(training), format_grouped(manifest.progress.next_sample)));
    } else if (!training.empty()) {
        verdict.refusal = fmt::format(
            "{}: the training data has changed since the checkpoint of step {} ({}). Put back what was "
            "there, or set run.accept_data_change=true to go on with what is there now, in another order of "
            "samples.",
            training.front().key, step, describe(training));
    }
    if (!validation.empty()) {
        verdict.warnings.push_back(fmt::format(
            "{}: the validation data has changed since the checkpoint of step {} ({}): losses before and "
            "after do not compare",
            validation.front().key, step, describe(validation)));
    }
    return verdict;
}

}  // namespace ziggurat::train
