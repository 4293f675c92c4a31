/// Banner of a run: program, machine, ranks and threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "train/step/rank_place.hpp"

namespace ziggurat::train {

/// One entry of the banner; `text` may have several lines.
struct BannerEntry {
    std::string label;
    std::string text;
};

/// `label     text`, continuation lines indented to the text.
std::string banner(std::span<const BannerEntry> entries);

/// `2 ranks on 1 node, 1 thread each, 2 cores (host)`: nodes with the same make-up share a line.
std::string describe_places(std::span<const RankPlace> ranks);

/// A warning with its remedy for each node whose threads are more than its cores; empty when all is well.
std::vector<std::string> oversubscription_warnings(std::span<const RankPlace> ranks);

/// Reason for the number of threads of a rank.
enum class ThreadsBy {
    share_of_cores,
    environment,
    request  ///< somebody has said it for this very run: there is nothing to tell
};

/// A note for each node of which the ranks leave so many cores idle that each could have one more, with the
/// reason and what to do.
std::vector<std::string> idle_core_notes(std::span<const RankPlace> ranks, ThreadsBy by);

}  // namespace ziggurat::train
