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

/// Returns `validate 100/500 | loss ...`, shortened to `columns` (0: no limit).
StyledText validation_line(const ValidationReport& report, std::int64_t total_steps, int columns = 0);

/// Returns a generated text as a block, with all control characters made visible.
///
/// The head is shortened to `columns` by shortening the prompt. The text keeps its own lines.
std::string sample_block(std::int64_t step,
                         std::string_view prompt,
                         std::string_view continuation,
                         double temperature,
                         int columns = 0);

}  // namespace ziggurat::train
