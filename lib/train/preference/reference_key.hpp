/// Key of the kept scores of a reference model: hashes of everything that they were computed from.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/fingerprint.hpp"
#include "data/token_source.hpp"
#include "spec/run_spec.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

/// Content that scores depend on. Paths are not part of it.
struct ReferenceKey {
    std::uint64_t inputs = 0;   ///< inputs_key()
    std::uint64_t weights = 0;  ///< reference_weights_hash()
    /// source_key() of the files that the weights were read from; 0: not known. If it is equal, the weights
    /// are equal, and do not have to be loaded.
    std::uint64_t source = 0;

    bool operator==(const ReferenceKey&) const = default;
};

/// Returns the hash of the bytes of all pairs and of the settings that change scores.
///
/// The version of the code that computes scores is included. Token ids in the pairs stand for the tokenizer.
/// Settings that only change the order of sums, such as the layout, are not included.
///
/// \param pair_hashes  file_hashes() of all sources
std::uint64_t inputs_key(const spec::RunSpec& spec, std::span<const std::uint64_t> pair_hashes);

/// Returns XXH3-64 of all bytes of each file. Reads those that the fingerprints do not cover.
///
/// \param fingerprints  of the same files, in the same order
std::vector<std::uint64_t> file_hashes(std::span<const data::NamedFile> files,
                                       std::span<const data::FileFingerprint> fingerprints);

/// Returns the hash of the weights that an assembly holds, for any layout.
///
/// With the reference `adapters_off`, adapters do not count.
///
/// \pre neither executor has work left
/// Collective: over the ranks of the assembly
std::uint64_t reference_weights_hash(const spec::RunSpec& spec, const Assembly& assembly);

/// Returns a hash of the files of weights, without reading all of them; 0 if they cannot be identified.
///
/// For a checkpoint it is the hash of COMPLETE, which has the hashes of all blocks. For the files of a
/// Hugging Face model these are names, sizes, times of change, and the hashes of evenly spaced blocks.
///
/// \param path          of a checkpoint, a run or a Hugging Face model
/// \param is_published  true for a Hugging Face model
std::uint64_t source_key(const std::string& path, bool is_published);

}  // namespace ziggurat::train
