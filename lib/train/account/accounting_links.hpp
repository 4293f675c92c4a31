/// Links in the account of a run: bytes moved between tiers, and busy time of each link.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "train/account/accounting.hpp"

namespace ziggurat::train {

/// Use of one link, summed over all ranks.
struct LinkSum {
    LinkUse worst;  ///< of the rank that has moved the most bytes
    std::size_t rank = 0;
    std::int64_t moved = 0, planned = 0;  ///< sums over all ranks
    double bytes_per_second = 0;          ///< of one rank while the link was busy: mean over the ranks
    double busy_share = 0;                ///< fraction of the wall time: mean over the ranks

    std::int64_t difference() const noexcept { return moved - planned; }
};

/// Returns the links that at least one rank uses, in the order of schedule::Link.
///
/// Pure; rank r's record is at index r.
std::vector<LinkSum> link_sums(std::span<const AccountRecord> ranks);

/// Returns a table of the links: planned and counted bytes per step, rate, and share of time busy.
///
/// After the table follow the time in which disks were idle although a transfer was ready, the rate of each
/// NVMe path if there are several, and a warning if counted and planned bytes of all ranks and steps differ.
/// Empty if no link moved bytes. Pure; rank r's record is at index r.
std::string link_table(std::span<const AccountRecord> ranks);

}  // namespace ziggurat::train
