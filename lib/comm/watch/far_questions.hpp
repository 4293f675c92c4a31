/// Questions to other machines whether they still run.
#pragma once

#include <cstdint>

#include "comm/watch/watch_list.hpp"

namespace ziggurat::comm {

/// Asks one rank of each other machine while a rank of this machine waits for long, and writes on the board
/// which of them do not answer any more. One rank of a machine asks for all of it: at thousands of ranks,
/// questions of each to each machine would be a load of their own.
///
/// Time in which this process did not run itself does not count.
class FarQuestions {
  public:
    /// \param list  outlives this; its link knows which ranks are asked
    explicit FarQuestions(const WatchList& list);

    /// To be called about once in HangWatch::tick_ns().
    void look(std::int64_t now_ns, double patience_seconds);

  private:
    bool is_long_wait(std::int64_t now_ns, double seconds) const;

    const WatchList& list_;
    std::int64_t since_ns_ = 0;  ///< first question of those under way; 0: none is
    std::int64_t last_look_ns_ = 0;
};

}  // namespace ziggurat::comm
