/// Notice, given once, of an NVMe path that holds up the others.
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

    /// Sends what this rank finds with the end of the next step; then rank 0 says what the first has found.
    ///
    /// \param agreed  the step_requests of all ranks at the end of this step
    /// Collective: over all ranks when some rank has found a slow path, else local
    void step_ended(const StepRequests& agreed);

  private:
    comm::Context world_;
    Assembly& assembly_;
    Reporter& reporter_;
    std::string found_;
    bool is_told_ = false;
};

}  // namespace ziggurat::train
