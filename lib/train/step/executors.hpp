/// Executors of one rank, as work that it goes on with while it waits for others between steps.
#pragma once

#include <utility>
#include <vector>

#include "comm/background.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

/// Whichever of its executors has begun a step: others may wait for their part of it.
class Executors final : public comm::Background {
  public:
    /// \param all  outlive this
    explicit Executors(std::vector<Executor*> all) : all_{std::move(all)} {}

    void advance() override {
        for (auto* executor : all_) {
            executor->advance();
        }
    }

  private:
    std::vector<Executor*> all_;
};

}  // namespace ziggurat::train
