/// Logits of one token, for sampling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"
#include "spec/dtype.hpp"
#include "state/tier_memory.hpp"
#include "train/step/executor.hpp"

namespace ziggurat::train {

/// Keeps the logits of one token of the micro-batch, from which a program makes its losses block by block.
class LogitsWatch {
  public:
    /// \param type  of the logits that the program makes
    LogitsWatch(std::int64_t vocab, spec::DType type)
        : type_{type}, logits_(static_cast<std::size_t>(vocab)) {}

    /// To be said before a run.
    void set_row(std::int64_t row) noexcept { row_ = row; }
    std::span<const float> logits() const noexcept { return logits_; }

    /// `action` of `op`, and then a look at the block of logits that it reads; the same action where it reads
    /// none, or has written its gradient over them. This watch stays where it is from then on.
    Action applied_to(const schedule::Program& program,
                      const schedule::Op& op,
                      const state::TierMemory& memory,
                      Action action);

  private:
    template <class E>
    void copy(const schedule::Op& op, std::span<const E> block);

    spec::DType type_;
    std::int64_t row_ = -1;
    std::vector<float> logits_;
};

}  // namespace ziggurat::train
