/// Lines for people between the step lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "train/account/step_report.hpp"
#include "train/report/styled_text.hpp"

namespace ziggurat::train {

/// `step 1251 SKIPPED: ...`: an update that was not applied; as much of it as fits `columns` (0: all).
std::string skipped_line(const StepReport& report, int columns = 0);

/// `step 1251 SPIKE: ...`, and what is done about it; as much of it as fits `columns` (0: all).
std::string spike_line(const StepReport& report, int columns = 0);

/// `validate 100/500 | loss ...`, as much of it as fits; `columns` 0: all.
StyledText validation_line(const ValidationReport& report, std::int64_t total_steps, int columns = 0);

/// A generated text as a block, safe to show whatever the model wrote. Its head is made to fit by shortening
/// the prompt; the text keeps its own lines.
std::string sample_block(std::int64_t step,
                         std::string_view prompt,
                         std::string_view continuation,
                         double temperature,
                         int columns = 0);

}  // namespace ziggurat::train
