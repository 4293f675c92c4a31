/// AbortHandler: abort of a rank for each kind of reason, with its message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/control_group.hpp"
#include "comm/watch/process_abort.hpp"

namespace ziggurat::comm {

/// Aborts with a common reason.
///
/// The first rank of a node that detects a failure claims the verdict, sends it to other nodes, and exits. A
/// rank that finds another verdict exits for that reason, so that all ranks report the same cause.
class AbortHandler {
  public:
    /// Both arguments outlive this.
    AbortHandler(const MonitoredRanks& list, ProcessAbort& departure) : list_{list}, departure_{departure} {}

    /// Handles a rank of this node that has died without a message.
    ///
    /// \param signal  signal that killed it; nullopt: unknown
    [[noreturn]] void dead_peer(std::size_t peer, std::optional<int> signal);
    /// Handles a rank killed by a launcher that was asked to end the job: it is not recorded as an error.
    [[noreturn]] void killed_by_launcher(std::size_t peer, const std::string& launcher);
    /// Handles a rank of this node that has reported a failure of its own, or aborted for its own reason.
    [[noreturn]] void failed_peer(std::size_t peer);
    /// Handles a wait that has taken too long.
    [[noreturn]] void hang(const HangDiagnosis& verdict);
    [[noreturn]] void lost_launcher();
    [[noreturn]] void remote_abort(const RemoteAbort& far);
    /// Handles a failure of this rank: prints `message` unless another rank has printed the same.
    ///
    /// \param is_first  result of claim_failure()
    [[noreturn]] void own_failure(int exit_code, const std::string& message, bool is_first);

    /// Records out-of-memory kills, so that earlier ones, of other jobs, are ignored.
    ///
    /// Call it often, at any time.
    void note_kills(std::int64_t now_ns) noexcept { kills_.refresh(now_ns); }

    /// Claims the verdict for this rank's failure, and sends it to other nodes. False if a verdict exists.
    bool claim_failure(int exit_code, const std::string& message);

  private:
    [[noreturn]] void verdict_of_another(const AbortReason& verdict);
    std::optional<AbortReason> verdict_of_others() const;
    /// \param index  index of the culprit, -1: no rank of this node
    bool claim(int index, int exit_code, const std::string& reason) const;
    /// Sends to ranks of other nodes, which cannot access this board.
    void broadcast_abort(int exit_code, const std::string& text, bool is_failure) const;

    const MonitoredRanks& list_;
    ProcessAbort& departure_;
    RecentKills kills_;
};

}  // namespace ziggurat::comm
