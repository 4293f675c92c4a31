#include "train/ops/tier_notes.hpp"

#include <algorithm>

#include "comm/control.hpp"

namespace ziggurat::train {
namespace {

std::vector<std::string> notes_of_this_rank(const state::TierMemory& memory,
                                            const NvmeLanes& lanes,
                                            int queue_depth) {
    std::vector<std::string> notes;
    if (const auto& reason = memory.not_pinned_reason(); !reason.empty()) {
        notes.push_back("host memory for GPU copies is not all pinned, so some copies are slower: " + reason +
                        " Or set the pinned amount in tiers.host.pinned.");
    }
    if (memory.nvme() == nullptr) {
        return notes;
    }
    for (const auto& folder : memory.nvme()->not_direct()) {
        notes.push_back("tiers.nvme.paths: " + folder +
                        ", so its transfers use the page cache and occupy host memory. Use a folder on a "
                        "local disk.");
    }
    if (const auto reason = lanes.not_asynchronous_reason(); !reason.empty()) {
        notes.push_back(
            "the system grants no asynchronous transfers (" + reason +
            "), so the disks of tiers.nvme.paths transfer one block at a time. Raise the limit as root: "
            "sysctl fs.aio-max-nr=1048576.");
    }
    if (lanes.depth() < queue_depth) {
        notes.push_back(
            "fs.aio-max-nr allows a rank fewer transfers in flight than tiers.nvme.queue_depth = " +
            std::to_string(queue_depth) +
            ", so the queue depth is reduced. Lower tiers.nvme.queue_depth, or raise the limit as root: "
            "sysctl fs.aio-max-nr=1048576.");
    }
    if (const auto& reason = memory.numa_reason(); !reason.empty()) {
        notes.push_back("tiers.nvme.map = near, but a rank uses all paths (" + reason + ").");
    }
    return notes;
}

}  // namespace

std::vector<std::string> tier_notes(const comm::Context& world,
                                    const state::TierMemory& memory,
                                    const NvmeLanes& lanes,
                                    int queue_depth) {
    std::string mine;
    for (const auto& note : notes_of_this_rank(memory, lanes, queue_depth)) {
        mine += note + "\n";
    }
    std::vector<std::string> all;
    for (const auto& text : comm::gather(world, mine)) {
        for (std::size_t begin = 0; begin < text.size();) {
            const auto end = text.find('\n', begin);
            const auto note = text.substr(begin, end - begin);
            if (std::ranges::find(all, note) == all.end()) {
                all.push_back(note);
            }
            begin = end + 1;
        }
    }
    return all;
}

}  // namespace ziggurat::train
