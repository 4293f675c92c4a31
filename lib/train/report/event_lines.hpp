/// Human-readable lines between the step lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "train/account/step_report.hpp"
#include "train/console/styled_text.hpp"

namespace ziggurat::train {

/// Returns `step 1251 SKIPPED: ...` for a skipped update, shortened to `columns` (0: no limit).
std::string skipped_line(const StepReport& report, int columns = 0);

/// Returns `step 1251 SPIKE: ...` with the action, shortened to `columns` (0: no limit).
std::string spike_line(const StepReport& report, int columns = 0);

/// Returns `epoch 2 of 'web' begins in step 1251`, shortened to `columns` (0: no limit).
std::string epoch_line(std::int64_t step, const BegunEpoch& begun, int columns = 0);

/// Returns true for epochs 2 to 10, 20, 30 to 100, 200, 300 and so on, whose begin is printed.
///
/// A source of a few windows begins an epoch in each step.
bool is_epoch_printed(std::int64_t epoch);

/// Returns `validate 100/500 | loss ...`, shortened to `columns` (0: no limit).
StyledText validation_line(const ValidationReport& report, std::int64_t total_steps, int columns = 0);

/// Returns a generated text as a block, with all control characters made visible.
///
/// The head is shortened to `columns` by shortening the prompt. The text keeps its own lines.
std::string sample_block(std::int64_t step,
                         std::string_view prompt,
                         std::string_view sampled,
                         double temperature,
                         int columns = 0);

}  // namespace ziggurat::train
