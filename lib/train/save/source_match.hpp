/// Training sources of a run, matched with those of the checkpoint that it goes on from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/fingerprint.hpp"
#include "data/order_record.hpp"

namespace ziggurat::train {

/// A training source, as its files are.
struct KnownSource {
    std::string key;                                ///< data.train[0].path
    std::int64_t tokens = -1;                       ///< -1: not known
    std::vector<data::FileFingerprint> files = {};  ///< none: its tokens come from no file

    /// The path of its first file, else its key.
    std::string name() const { return files.empty() ? key : files.front().path; }
    std::int64_t bytes() const;
    /// Has the same bytes, by size and hash of each file in turn, and reads the same number of tokens in
    /// them, whatever they are called.
    bool is_same_as(const KnownSource& other) const;
};

/// The sources of data.train, in its order.
///
/// \param files  of all sources, with printable paths; those of data.validation are passed over
/// \param order  of the same run; unknown: then there are as many sources as have files
std::vector<KnownSource> training_sources(std::span<const data::FileFingerprint> files,
                                          const data::OrderRecord& order);

/// Which source of a checkpoint each present one is.
struct SourceMatch {
    static constexpr int none = -1;

    struct Present {
        int before = none;     ///< which of the checkpoint's sources it is, or takes the place of
        bool is_same = false;  ///< it is that one, not another in its place
    };
    std::vector<Present> sources;
    std::vector<int> gone;  ///< sources of the checkpoint that are not there any more

    /// Some source has other bytes than the one in whose place it stands.
    bool has_replaced() const;
    bool has_moved() const;  ///< the sources that are the same stand at other places of the list
    bool has_new() const;    ///< a source that takes nobody's place
};

/// By what they are, else by their place: what is left over on both sides is paired in the order of the
/// lists, first where key and path are the same.
SourceMatch match_sources(std::span<const KnownSource> before, std::span<const KnownSource> now);

}  // namespace ziggurat::train
