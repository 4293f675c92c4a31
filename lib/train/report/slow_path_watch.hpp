/// Notice, printed once, of an NVMe path that is slower than the others.
#pragma once

#include <string>

#include "comm/context.hpp"
#include "train/report/reporter.hpp"
#include "train/step/assembly.hpp"

namespace ziggurat::train {

class SlowPathWatch {
  public:
    SlowPathWatch(const comm::Context& world, Assembly& assembly, Reporter& reporter)
        : world_{world}, assembly_{assembly}, reporter_{reporter} {}

    /// Sends a slow path that this rank has found at the end of the next step. Rank 0 prints the first one.
    ///
    /// \param agreed  the step_requests of all ranks at the end of this step
    /// Collective: over all ranks if a rank has found a slow path, else local
    void step_ended(const StepRequests& agreed);

  private:
    comm::Context world_;
    Assembly& assembly_;
    Reporter& reporter_;
    std::string found_;
    bool is_reported_ = false;
};

}  // namespace ziggurat::train
