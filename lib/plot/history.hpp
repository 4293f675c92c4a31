/// History of a run: the numbers of its metrics.jsonl.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::plot {

/// The lanes of the fields `stall_<lane>_s`.
inline constexpr std::array<std::string_view, 8> lanes{"data",           "collective",     "channel",
                                                       "host_to_device", "device_to_host", "nvme_read",
                                                       "nvme_write",     "host_optimizer"};

struct Step {
    std::int64_t step = 0;
    std::optional<double> loss;  ///< nothing: there was none, or it was not finite
    bool is_loss_finite = true;
    double tok_s = 0;
    double step_s = 0;
    std::array<float, lanes.size()> stall_s{};
};

struct Validation {
    std::int64_t step = 0;
    double loss = 0;
};

struct History {
    std::string path;  ///< of the file
    std::string name;  ///< that the run gives itself; empty: it has not said
    std::int64_t ranks = 0;
    std::int64_t parameters = 0;
    std::vector<Step> steps;  ///< in order, each once
    std::vector<Validation> validations;
    std::vector<std::int64_t> restarts;  ///< after which step the run went on
    std::int64_t bad_lines = 0;          ///< that are no events
    std::int64_t first_bad_line = 0;     ///< its number, from 1
    bool is_last_line_cut = false;       ///< usual while a run writes

    /// Whether any step has waited for the lane.
    bool waits_for(std::size_t lane) const;
};

/// The metrics of a run: of a folder, the file `metrics.jsonl` in it.
///
/// Errors: Error{deck} when there is no such file, it is no regular file or has no step
History read_history(const std::string& run);

}  // namespace ziggurat::plot
