/// Key of the data of validations: losses are comparable if it is equal.
#pragma once

#include <cstdint>
#include <span>

#include "data/corpus.hpp"
#include "data/fingerprint.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

/// Returns the hash of the validated bytes, their division into samples, and the loss.
///
/// Paths do not matter. Never 0.
///
/// \param files  of all sources
std::uint64_t validation_key(const spec::RunSpec& spec,
                             const data::Corpus& corpus,
                             std::span<const data::FileFingerprint> files);

}  // namespace ziggurat::train
