/// Banner of a run: program, machine, ranks and threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/step/rank_place.hpp"

namespace ziggurat::train {

/// Entry of the banner. `text` may have several lines.
struct BannerEntry {
    std::string label;
    std::string text;
};

/// Returns the entries as `label     text`, with continuation lines indented to the text.
std::string banner(std::span<const BannerEntry> entries);

/// Returns the ranks by node, such as `vm: 2 ranks with 1 thread each on 2 cores`.
///
/// Consecutive nodes with the same ranks, threads and cores share a line.
std::string describe_places(std::span<const RankPlacement> ranks);

/// Returns a warning with a remedy for each node that has more threads than cores.
std::vector<std::string> oversubscription_warnings(std::span<const RankPlacement> ranks);

/// Reason for the number of threads of a rank.
enum class ThreadsBy {
    share_of_cores,
    environment,
    request  ///< set explicitly for this run: no note is needed
};

/// Returns a note, with reason and remedy, for each node with idle cores.
///
/// A node gets a note if its idle cores would give each of its ranks at least one more core.
std::vector<std::string> idle_core_notes(std::span<const RankPlacement> ranks, ThreadsBy by);

}  // namespace ziggurat::train
