/// History of a run: the numbers of its metrics.jsonl.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ziggurat::plot {

/// The lanes of the fields `stall_<lane>_s`.
inline constexpr std::array<std::string_view, 8> lanes{"data",           "collective",     "channel",
                                                       "host_to_device", "device_to_host", "nvme_read",
                                                       "nvme_write",     "host_optimizer"};

/// Tiers of memory, as fields of a step and of the start call them.
enum class MemoryTier { device, host, nvme };
inline constexpr std::array<std::string_view, 3> tiers{"device", "host", "nvme"};

struct Step {
    std::int64_t step = 0;
    double time = 0;             ///< of its end, in seconds since 1970, UTC; 0: not told
    std::optional<double> loss;  ///< nothing: there was none, or it was not finite
    bool is_loss_finite = true;
    double tok_s = 0;
    double step_s = 0;
    std::array<float, lanes.size()> stall_s{};
    std::int64_t tokens = 0;  ///< since the training began
    std::array<double, tiers.size()>
        tier_bytes{};  ///< by MemoryTier; of the fullest rank, where a rank has its own
    double mfu = 0;    ///< 0: the peak is unknown
    double lr = 0;
    double grad_norm = 0;
};

struct Validation {
    std::int64_t step = 0;
    double loss = 0;
};

/// A save that is over.
struct Save {
    std::int64_t step = 0;
    bool is_ok = false;
    double bytes = 0;
    double seconds = 0;
    double stood_still_s = 0;  ///< training, for it
    std::string reason = {};   ///< why it was given up
};

/// Something else that a run tells of.
struct RunEvent {
    double time = 0;  ///< seconds since 1970, UTC; 0: not told
    std::optional<std::int64_t> step = {};
    std::string text = {};  ///< printable
};

/// End of a run, told by itself.
struct End {
    double time = 0;
    int exit_code = 0;
    std::string reason = {};  ///< printable
};

struct History {
    std::string path;  ///< of the file
    std::string name;  ///< that the run gives itself; empty: it has not said
    std::int64_t ranks = 0;
    std::int64_t parameters = 0;
    std::int64_t planned_steps = 0;                   ///< 0: not told
    std::array<double, tiers.size()> budget_bytes{};  ///< by MemoryTier; 0: not told
    double last_time = 0;                             ///< of the latest event
    std::vector<Step> steps;                          ///< in order, each once
    std::vector<Validation> validations;
    std::vector<Save> saves;
    std::vector<RunEvent> events;        ///< in their order, all jobs of the run
    std::optional<End> end;              ///< nothing: it goes on, or was killed
    std::vector<std::int64_t> restarts;  ///< after which step the run went on
    std::int64_t bad_lines = 0;          ///< that are no events
    std::int64_t first_bad_line = 0;     ///< its number, from 1
    bool is_last_line_cut = false;       ///< usual while a run writes

    /// Whether any step has waited for the lane.
    bool waits_for(std::size_t lane) const;
    /// Whether any step tells of bytes there.
    bool uses(MemoryTier tier) const;
};

/// Reads the metrics of a run while they grow: of a folder, the file `metrics.jsonl` in it.
class HistoryReader {
  public:
    /// Errors: Error{deck} when there is no such file, or it is no regular file
    explicit HistoryReader(const std::string& run);

    /// Reads what has come since the last call; a file that has begun anew is read anew.
    /// Errors: Error{deck} when it cannot be read, or has a line that is none of ours by its length
    void read();

    const History& history() const noexcept { return history_; }
    /// What was read; the reader is of no use any more.
    History take() && { return std::move(history_); }

  private:
    History history_;
    std::int64_t offset_ = 0;  ///< behind the lines that were read
    std::int64_t number_of_line_ = 0;
    std::uint64_t file_ = 0;  ///< its number in the file system; 0: none was read
    std::vector<char> text_;
};

/// All metrics of a run.
///
/// Errors: Error{deck} as HistoryReader's, and when there is no step
History read_history(const std::string& run);

}  // namespace ziggurat::plot
