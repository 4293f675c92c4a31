/// Check of LATEST, the file that names the newest checkpoint of a folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ziggurat::checkpoint {

/// Result of the check. Both texts are empty if LATEST is valid.
struct LatestCheck {
    /// Corruption, or a checkpoint that is missing although it was complete.
    std::string defect;
    /// State in which an interrupted save leaves LATEST: training resumes without loss and writes it again.
    std::string note;

    bool operator==(const LatestCheck&) const = default;
};

/// Checks LATEST in `root`, a folder of checkpoints, which no other process changes meanwhile.
LatestCheck check_latest(const std::string& root);

/// Returns the step that LATEST in `root` names; nullopt if it does not exist or cannot be read.
std::optional<std::int64_t> latest_step(const std::string& root);

}  // namespace ziggurat::checkpoint
