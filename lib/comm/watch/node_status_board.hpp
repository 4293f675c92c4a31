/// NodeStatusBoard: shared memory of a node in which its ranks publish their status.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/file_handle.hpp"
#include "comm/node/event_count.hpp"
#include "comm/watch/shared_text.hpp"

namespace ziggurat::comm {

/// Stage of a rank's lifetime.
enum class Stage : std::int32_t {
    running = 0,
    failed,    ///< has printed its error, or is about to, and exits with `exit_code`
    finished,  ///< may exit at any time without a report
};

/// Kind of activity of a rank.
enum class ActivityState : std::int32_t {
    works = 0,    ///< computes, reads, writes ...
    device_busy,  ///< its main thread waits for its own device or compute thread
    waits         ///< waits for other ranks, or for a transfer
};

/// Current activity or wait of a rank. Only that rank writes it; ranks that wait for it read it.
struct RankActivity {
    std::atomic<std::int64_t> since_ns{0};  ///< monotonic_ns() at the start of the activity
    std::atomic<ActivityState> doing{ActivityState::works};
    SharedText<120> what{};  ///< the op, or the object of the wait
};

/// Words that a rank posts for all others (board_exchange.hpp).
struct ExchangeSlot {
    static constexpr std::size_t max_words = 32;

    EventCount bell;
    std::atomic<std::uint32_t> posted{0};  ///< number of exchanges for which this rank has posted its words
    std::array<std::array<std::uint64_t, max_words>, 2> words{};
};

/// Line of one rank on the board.
struct alignas(64) RankStatus {
    std::atomic<Stage> stage{Stage::running};
    std::atomic<std::int32_t> exit_code{0};
    RankActivity activity{};
    ExchangeSlot seat{};
};

/// Reason why the job is aborted, written by the first rank that detects it.
struct AbortReason {
    int author = -1;   ///< index of a line
    int culprit = -1;  ///< index of a line; -1: no rank of this node
    int exit_code = 0;
    std::string reason = {};  ///< complete message in one sentence
};

/// Verdict in shared memory.
struct alignas(64) BoardVerdict {
    std::atomic<std::int32_t> author{0};      ///< index + 1; 0: not claimed
    std::atomic<std::int32_t> is_written{0};  ///< the other members may be read
    std::atomic<std::int32_t> culprit{0};     ///< index + 1
    std::atomic<std::int32_t> exit_code{0};
    SharedText<504> reason{};
};

/// Header of the board, before its lines.
struct BoardHeader {
    BoardVerdict verdict{};
    SharedText<504> silent_remote_ranks{};
};

static_assert(std::is_standard_layout_v<RankStatus> && std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<Stage>::is_always_lock_free && std::atomic<ActivityState>::is_always_lock_free);

/// Owner of a board's memory: an unnamed segment that is freed with the last process that maps it.
class NodeStatusBoard {
  public:
    /// Creates a board. If the system has no unnamed segments, other processes cannot open it.
    /// Errors: Error{resource} if memory is insufficient
    static NodeStatusBoard create(int num_lines);
    /// Opens the board that process `pid` has open as `descriptor`; nullopt if it is not accessible.
    static std::optional<NodeStatusBoard> open(pid_t pid, int descriptor, int num_lines);

    NodeStatusBoard(NodeStatusBoard&& other) noexcept;
    NodeStatusBoard& operator=(NodeStatusBoard&&) = delete;
    ~NodeStatusBoard();

    int num_lines() const noexcept { return num_lines_; }
    RankStatus& line(int index) const noexcept;

    /// Claims the verdict. Returns true for the first rank that claims; later verdicts are ignored.
    bool claim_verdict(const AbortReason& verdict) const;
    /// Returns the verdict; nullopt if it was not claimed, or its author died before it was written.
    std::optional<AbortReason> verdict() const;

    /// Human-readable list of ranks on other nodes that no longer answer; empty if none is known.
    ///
    /// One rank of the node sends the requests and writes the list (far_questions.hpp).
    void set_silent_remote_ranks(std::string_view ranks) const { head().silent_remote_ranks.store(ranks); }
    std::string silent_remote_ranks() const { return head().silent_remote_ranks.load(); }

    /// File descriptor by which others open the board, until close_descriptor().
    int descriptor() const noexcept { return descriptor_.get(); }
    /// Closes the descriptor after all ranks have opened the board: the mappings keep the memory.
    void close_descriptor() noexcept { descriptor_ = {}; }

  private:
    NodeStatusBoard(FileHandle descriptor, void* memory, int num_lines) noexcept;
    BoardHeader& head() const noexcept { return *static_cast<BoardHeader*>(memory_); }

    FileHandle descriptor_;
    void* memory_;
    int num_lines_;
};

}  // namespace ziggurat::comm
