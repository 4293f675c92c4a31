/// Comparison of a run's data with the data that its checkpoint was written with.
#pragma once

#include <string>
#include <vector>

#include "base/secret.hpp"
#include "checkpoint/deck_changes.hpp"
#include "checkpoint/manifest.hpp"
#include "data/fingerprint.hpp"
#include "data/order_record.hpp"

namespace ziggurat::train {

/// What a run trains on, as its first rank sees it.
struct TrainingData {
    std::vector<data::FileFingerprint> files;  ///< none: nothing is compared
    data::OrderRecord order;                   ///< of a run that begins
};

/// Judgement of the data before a run goes on.
struct DataVerdict {
    std::string refusal;  ///< the message of an error; empty: the run may go on
    std::vector<std::string> warnings;
    std::vector<std::string> notes;
    data::OrderRecord order;  ///< of the samples that follow
};

/// Sources are known by their bytes, whatever they are called and wherever they stand in the list, and each
/// goes on where it was. One with other bytes than the one in whose place it stands refuses, since a sample
/// is a function of them; with `is_accepted` it warns. So do files of validation data. What other weights,
/// sources, sequences, seeds and held-out shares mean is told in figures.
///
/// \param deck  differences between the deck of the checkpoint and the present one
/// \param now   its files for_manifest()
DataVerdict judge_data(const checkpoint::Manifest& manifest,
                       const std::vector<checkpoint::DeckChange>& deck,
                       const TrainingData& now,
                       bool is_accepted);

/// As a manifest keeps them: paths that anybody can read, and may, with variables for secrets.
std::vector<data::FileFingerprint> for_manifest(std::vector<data::FileFingerprint> files,
                                                std::span<const Secret> secrets = {});

}  // namespace ziggurat::train
