/// Training sources of a run, matched with those of the checkpoint that it resumes from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/fingerprint.hpp"
#include "data/order/data_order_state.hpp"

namespace ziggurat::train {

/// A training source, identified by the content of its files.
struct KnownSource {
    std::string key;                                ///< data.train[0].path
    std::int64_t tokens = -1;                       ///< -1: not known
    std::vector<data::FileFingerprint> files = {};  ///< empty: its tokens do not come from files

    /// Returns the path of its first file, or its key if it has no files.
    std::string name() const { return files.empty() ? key : files.front().path; }
    std::int64_t bytes() const;
    /// Returns true if both have the same files (size and hash) and the same number of tokens.
    ///
    /// The names of the files do not matter.
    bool is_same_as(const KnownSource& other) const;
};

/// Returns the sources of data.train, in the order of the deck.
///
/// \param files  files of all sources, with printable paths; those of data.validation are skipped
/// \param order  order of the same run; if it is unknown, only sources with files are returned
std::vector<KnownSource> training_sources(std::span<const data::FileFingerprint> files,
                                          const data::DataOrderState& order);

/// Mapping from each present source to a source of the checkpoint.
struct SourceMatch {
    static constexpr int none = -1;

    struct Present {
        int before = none;     ///< index of the checkpoint's source that it is, or that it replaces
        bool is_same = false;  ///< true: it is that source; false: it replaces that source
    };
    std::vector<Present> sources;
    std::vector<int> gone;  ///< sources of the checkpoint that no longer exist

    /// Returns true if a source has other bytes than the source that it replaces.
    bool has_replaced() const;
    /// Returns true if the matched sources are in another order than before.
    bool has_moved() const;
    /// Returns true if a source is new: it replaces no other source.
    bool has_new() const;
};

/// Matches sources by their content first.
///
/// Then it pairs the remaining sources that have the same key and path, and last the others in list order.
SourceMatch match_sources(std::span<const KnownSource> before, std::span<const KnownSource> now);

}  // namespace ziggurat::train
