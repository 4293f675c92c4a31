/// Last line in metrics.jsonl of a rank that exits because other ranks have failed.
#pragma once

#include <string>

#include "comm/watch/liveness.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {

/// Makes `reporter` record the reason before the watch over peers ends this process.
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
