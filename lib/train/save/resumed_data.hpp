/// Comparison of a run's data with the data that its checkpoint was written with.
#pragma once

#include <string>
#include <vector>

#include "base/text/secret.hpp"
#include "checkpoint/catalogue/deck_changes.hpp"
#include "checkpoint/manifest.hpp"
#include "data/fingerprint.hpp"
#include "data/order/data_order_state.hpp"

namespace ziggurat::train {

/// Training data of a run, as its first rank reads it.
struct TrainingData {
    std::vector<data::FileFingerprint> files;  ///< empty: files are not compared
    data::DataOrderState order;                ///< order of a run that starts from scratch
    std::int64_t global_batch = 0;             ///< samples of a step, in steps after which weights change
};

/// Result of the comparison of the data before a run resumes.
struct DataVerdict {
    std::string refusal;  ///< the message of an error; empty: the run may resume
    std::vector<std::string> warnings;
    std::vector<std::string> notes;
    data::DataOrderState order;  ///< order of the samples that follow
};

/// Compares the data of a run with the data of its checkpoint.
///
/// Sources are identified by their bytes, not by name or position in the list. Each source continues at the
/// position that it had reached. A source with other bytes than the source that it replaces is refused,
/// because a sample is a function of these bytes. With `is_accepted` this is only a warning. Changed files of
/// validation data are also only a warning. Changes of weights, sources, sequences, seeds and held-out shares
/// are reported in figures.
///
/// \param deck  differences between the deck of the checkpoint and the present deck
/// \param now   its files must come from for_manifest()
DataVerdict check_data(const checkpoint::Manifest& manifest,
                       const std::vector<checkpoint::DeckChange>& deck,
                       const TrainingData& now,
                       bool is_accepted);

/// Returns `files` as a manifest stores them: printable paths, and variables instead of secrets.
std::vector<data::FileFingerprint> for_manifest(std::vector<data::FileFingerprint> files,
                                                std::span<const Secret> secrets = {});

}  // namespace ziggurat::train
