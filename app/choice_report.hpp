/// Report on multiple-choice tasks: a table, JSON, and a line for each task.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/choice/choose.hpp"

namespace ziggurat::app {

struct ChoiceReport {
    std::string checkpoint;
    std::int64_t step = 0;
    std::string task;  ///< path
    data::ChoiceCounts counts;
    std::int64_t ending_tokens = 0;  ///< whose log-probabilities are summed
    std::int64_t read_tokens = 0;    ///< that the model has read for them
    std::int64_t cut_rows = 0;       ///< endings whose context has lost its beginning
    double seconds = 0;              ///< from the first batch to the last
};

/// For people: some lines.
std::string choice_table(const ChoiceReport& report);

/// One line.
std::string choice_json(const ChoiceReport& report);

/// A JSON line for each task: index, line of its file, label, what is chosen, and by what.
std::string choice_lines(std::span<const data::ChoiceTask> tasks, std::span<const data::TaskChoice> choices);

}  // namespace ziggurat::app
