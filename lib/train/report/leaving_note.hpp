/// Last line of metrics.jsonl of a rank that leaves because others have failed.
#pragma once

#include <string>

#include "comm/watch/liveness.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {

/// Whatever makes this rank leave from within the watch over its peers is told by `reporter` first.
class LeavingNote {
  public:
    LeavingNote(comm::Liveness* liveness, Reporter& reporter) : liveness_{liveness} {
        if (liveness_ != nullptr) {
            liveness_->before_leaving([&reporter](const comm::Departure::LastWords& words) {
                reporter.break_down(words.line, words.exit_code, words.is_own_reason);
            });
        }
    }
    ~LeavingNote() {
        if (liveness_ != nullptr) {
            liveness_->before_leaving({});
        }
    }
    LeavingNote(const LeavingNote&) = delete;
    LeavingNote& operator=(const LeavingNote&) = delete;

  private:
    comm::Liveness* liveness_;
};

}  // namespace ziggurat::train
