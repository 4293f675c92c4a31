/// Sample files that the program keeps for itself, and those that only this process uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/stop_check.hpp"
#include "data/samples/sample_file.hpp"
#include "data/tokenize/temporary_file.hpp"

namespace ziggurat::data {

/// Paths of the samples of one file of records, and the key that they share.
struct SampleNames {
    std::string path;        ///< RECORDS.KEY.samples next to the records
    std::string other_path;  ///< in another folder, if that of the records cannot be written; may be empty
    std::uint64_t key = 0;   ///< hash of everything that the samples are made from

    std::vector<std::string> all() const;
};

/// Returns the names of samples with a key.
///
/// \param other_folder  may be empty
SampleNames sample_names(const std::string& records, const std::string& other_folder, std::uint64_t key);

/// Returns the samples with these names, if the seal of a file agrees with its content and the key.
///
/// Then samples that keep_for_this_process() got are returned.
///
/// \param unusable_reason  gets the reason why an existing file cannot be used
/// Errors: Stopped
std::optional<SampleFile> find_samples(const SampleNames& names,
                                       const StopCheck& stop,
                                       std::string& unusable_reason);

/// Stores a complete file without a name until the process ends; find_samples() returns it.
void keep_for_this_process(const SampleNames& names, TemporaryFile& file);

/// Removes unfinished samples of processes that were killed, of any key.
void remove_abandoned_samples(const SampleNames& names, const std::string& records);

}  // namespace ziggurat::data
