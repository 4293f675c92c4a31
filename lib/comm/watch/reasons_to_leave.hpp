/// Reasons why a rank leaves its job, each with the line that it prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/control_group.hpp"
#include "comm/watch/departure.hpp"

namespace ziggurat::comm {

/// Claims the verdict for the first reason that a rank of this machine sees, tells it to other machines, and
/// leaves; where another rank was first, leaves for the reason of that one, so that all tell the same story.
class ReasonsToLeave {
  public:
    /// Both outlive this.
    ReasonsToLeave(const WatchList& list, Departure& departure) : list_{list}, departure_{departure} {}

    /// A rank of this machine has died without a word.
    ///
    /// \param signal  that killed it; nothing: it is not known
    [[noreturn]] void dead_peer(std::size_t peer, std::optional<int> signal);
    /// A rank of this machine was killed by the launcher, which was asked to end the job: no fault to keep.
    [[noreturn]] void killed_by_launcher(std::size_t peer, const std::string& launcher);
    /// A rank of this machine has failed by itself, or has left for a reason of its own.
    [[noreturn]] void failed_peer(std::size_t peer);
    /// A wait has taken too long.
    [[noreturn]] void hang(const HangVerdict& verdict);
    [[noreturn]] void lost_launcher();
    [[noreturn]] void told_from_elsewhere(const FarVerdict& far);
    /// This rank has failed by itself: prints `message` unless another rank has said the same.
    ///
    /// \param is_first  claim_failure() has said so
    [[noreturn]] void own_failure(int exit_code, const std::string& message, bool is_first);

    /// Notes kills for want of memory, so that those of other jobs long before are not blamed; often, at any
    /// time.
    void note_kills(std::int64_t now_ns) noexcept { kills_.look(now_ns); }

    /// Makes this rank's own failure the verdict, and tells it to other machines; false when there was one.
    bool claim_failure(int exit_code, const std::string& message);

  private:
    [[noreturn]] void verdict_of_another(const Verdict& verdict);
    std::optional<Verdict> verdict_of_others() const;
    /// \param place  of the rank to blame, -1: none of this machine
    bool claim(int place, int exit_code, const std::string& reason) const;
    /// To ranks of other machines, none of which sees this board.
    void tell_elsewhere(int exit_code, const std::string& text, bool is_failure) const;

    const WatchList& list_;
    Departure& departure_;
    RecentKills kills_;
};

}  // namespace ziggurat::comm
