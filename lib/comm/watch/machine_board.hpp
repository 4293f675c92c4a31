/// Board of a machine: memory in which its ranks write what they do, for all of them to read.
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
#include "comm/node/bell.hpp"
#include "comm/watch/shared_text.hpp"

namespace ziggurat::comm {

/// Stage of a rank's life.
enum class Stage : std::int32_t {
    running = 0,
    failed,    ///< has said why, or is about to, and ends with `exit_code`
    finished,  ///< may end at any moment without harm to anybody
};

/// What a rank is at.
enum class Doing : std::int32_t {
    works = 0,     ///< computes, reads, writes ...
    works_beside,  ///< the same by its device or a thread beside, for which its own thread waits
    waits          ///< for others, or for a transfer
};

/// Work or wait of a rank, written by that rank alone, for those that wait for it.
struct RankActivity {
    std::atomic<std::int64_t> since_ns{0};  ///< monotonic_ns() when it began what it does
    std::atomic<Doing> doing{Doing::works};
    SharedText<120> what{};  ///< the op, or what is waited for
};

/// Words that a rank posts for all others (board_exchange.hpp).
struct BoardSeat {
    static constexpr std::size_t max_words = 32;

    Bell bell;
    std::atomic<std::uint32_t> posted{0};  ///< exchanges that this rank has posted its words for
    std::array<std::array<std::uint64_t, max_words>, 2> words{};
};

/// One rank's line of the board.
struct alignas(64) BoardLine {
    std::atomic<Stage> stage{Stage::running};
    std::atomic<std::int32_t> exit_code{0};
    RankActivity activity{};
    BoardSeat seat{};
};

/// Reason why the job ends, written by the first rank that knew it.
struct Verdict {
    int author = -1;   ///< a line
    int culprit = -1;  ///< a line; -1: none of this machine
    int exit_code = 0;
    std::string reason = {};  ///< one sentence that says it all
};

/// The same in shared memory.
struct alignas(64) BoardVerdict {
    std::atomic<std::int32_t> author{0};      ///< + 1; 0: nobody
    std::atomic<std::int32_t> is_written{0};  ///< the rest of this may be read
    std::atomic<std::int32_t> culprit{0};     ///< + 1
    std::atomic<std::int32_t> exit_code{0};
    SharedText<504> reason{};
};

/// Beginning of the board, before its lines.
struct BoardHead {
    BoardVerdict verdict{};
    SharedText<504> silent_elsewhere{};
};

static_assert(std::is_standard_layout_v<BoardLine> && std::atomic<std::int64_t>::is_always_lock_free &&
              std::atomic<Stage>::is_always_lock_free && std::atomic<Doing>::is_always_lock_free);

/// The memory of a board: an unnamed segment that ends with the last process that maps it, so nothing is
/// left behind when ranks die.
class MachineBoard {
  public:
    /// A new board. Where the system has no unnamed segments, one that nobody else can open.
    /// Errors: Error{resource} when there is no memory
    static MachineBoard create(int num_lines);
    /// The board that process `pid` holds open as `descriptor`; nothing when that process may not be looked
    /// into.
    static std::optional<MachineBoard> open(pid_t pid, int descriptor, int num_lines);

    MachineBoard(MachineBoard&& other) noexcept;
    MachineBoard& operator=(MachineBoard&&) = delete;
    ~MachineBoard();

    int num_lines() const noexcept { return num_lines_; }
    BoardLine& line(int index) const noexcept;

    /// True for the first rank that claims; the verdicts of the others do not count.
    bool claim_verdict(const Verdict& verdict) const;
    /// Nothing when nobody has claimed it, or did not live to write it down.
    std::optional<Verdict> verdict() const;

    /// Ranks of other machines that do not answer any more, for people; empty: none is known. One rank of
    /// the machine asks and writes it (far_questions.hpp).
    void set_silent_elsewhere(std::string_view ranks) const { head().silent_elsewhere.store(ranks); }
    std::string silent_elsewhere() const { return head().silent_elsewhere.load(); }

    /// Descriptor by which others open it, until close_descriptor().
    int descriptor() const noexcept { return descriptor_.get(); }
    /// All have opened it: the mappings keep the memory.
    void close_descriptor() noexcept { descriptor_ = {}; }

  private:
    MachineBoard(FileHandle descriptor, void* memory, int num_lines) noexcept;
    BoardHead& head() const noexcept { return *static_cast<BoardHead*>(memory_); }

    FileHandle descriptor_;
    void* memory_;
    int num_lines_;
};

}  // namespace ziggurat::comm
