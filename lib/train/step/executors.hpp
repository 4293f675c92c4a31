/// Executors of one rank, as background work while it waits for other ranks between steps.
#pragma once

#include <utility>
#include <vector>

#include "comm/background.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

/// Background work that advances the started steps of all executors: other ranks may wait for them.
class Executors final : public comm::BackgroundWork {
  public:
    /// \param all  must outlive this object
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
