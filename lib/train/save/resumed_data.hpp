/// Comparison of a run's data with the data that its checkpoint was written with.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/secret.hpp"
#include "checkpoint/deck_changes.hpp"
#include "checkpoint/manifest.hpp"
#include "data/fingerprint.hpp"

namespace ziggurat::train {

/// Judgement of the data before a run goes on.
struct DataVerdict {
    std::string refusal;  ///< the message of an error; empty: the run may go on
    std::vector<std::string> warnings;
    std::vector<std::string> notes;
};

/// Files of training data that are others than those of the checkpoint refuse, since the order of samples is
/// a function of their sizes and a sample one of their bytes; with `is_accepted` they warn. So do files of
/// validation data. Sources that the deck itself now names otherwise are the business of
/// checkpoint::warnings().
///
/// \param deck   differences between the deck of the checkpoint and the present one
/// \param files  of the present data, for_manifest()
DataVerdict judge_data(const checkpoint::Manifest& manifest,
                       const std::vector<checkpoint::DeckChange>& deck,
                       const std::vector<data::FileFingerprint>& files,
                       bool is_accepted);

/// As a manifest keeps them: paths that anybody can read, and may, with variables for secrets.
std::vector<data::FileFingerprint> for_manifest(std::vector<data::FileFingerprint> files,
                                                std::span<const Secret> secrets = {});

}  // namespace ziggurat::train
