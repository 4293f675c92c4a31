/// Links in the account of a run: bytes moved between tiers, and how busy each link was.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/account/accounting.hpp"

namespace ziggurat::train {

/// One link over all ranks.
struct LinkSum {
    LinkUse worst;  ///< of the rank that has moved most
    std::size_t rank = 0;
    std::int64_t moved = 0, planned = 0;  ///< of all ranks
    double bytes_per_second = 0;          ///< of a rank while the link was busy: mean over the ranks
    double busy_share = 0;                ///< of the wall time: mean over the ranks

    std::int64_t difference() const noexcept { return moved - planned; }
};

/// Links in their order, as far as some rank uses them. Pure; rank r's record is at index r.
std::vector<LinkSum> link_sums(std::span<const AccountRecord> ranks);

/// Bytes per step that the plan says and that were counted, rates and the share of the time in which each
/// link was busy; a warning where the difference over all ranks and steps is not 0; and for how long disks
/// stood still though a transfer was ready, and the rates of their paths where there are several. Empty when
/// nothing moves. Pure.
std::string link_table(std::span<const AccountRecord> ranks);

}  // namespace ziggurat::train
