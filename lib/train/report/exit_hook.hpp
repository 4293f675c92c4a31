/// Last line in metrics.jsonl of a rank that exits because other ranks have failed.
#pragma once

#include <string>

#include "comm/watch/liveness.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {

/// Makes `reporter` record the reason before the watch over peers ends this process.
class ExitHook {
  public:
    ExitHook(comm::Liveness* liveness, Reporter& reporter) : liveness_{liveness} {
        if (liveness_ != nullptr) {
            liveness_->set_last_message([&reporter](const comm::ProcessAbort::LastMessage& words) {
                reporter.break_down(words.line, words.exit_code, words.is_own_reason);
            });
        }
    }
    ~ExitHook() {
        if (liveness_ != nullptr) {
            liveness_->set_last_message({});
        }
    }
    ExitHook(const ExitHook&) = delete;
    ExitHook& operator=(const ExitHook&) = delete;

  private:
    comm::Liveness* liveness_;
};

}  // namespace ziggurat::train
