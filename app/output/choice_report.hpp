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
    std::int64_t ending_tokens = 0;  ///< tokens whose log-probabilities are summed
    std::int64_t read_tokens = 0;    ///< tokens that the model has read, with contexts
    std::int64_t cut_rows = 0;       ///< endings whose context was cut at its beginning
    std::int64_t skipped_tasks = 0;  ///< tasks that are not in `counts`: an ending adds no token
    double seconds = 0;              ///< from the first batch to the last
};

/// Returns the report as lines of text.
std::string choice_table(const ChoiceReport& report);

/// Returns the report as one line of JSON.
std::string choice_json(const ChoiceReport& report);

/// Returns one JSON line per task: index, line in the file, label, choices and their scores.
std::string choice_lines(std::span<const data::ChoiceTask> tasks, std::span<const data::TaskChoice> choices);

}  // namespace ziggurat::app
