/// Choices by likelihood, and the number of correct choices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/enum_array.hpp"
#include "data/choice/choice_rows.hpp"
#include "data/choice/choice_task.hpp"

namespace ziggurat::data {

/// Length by which the log-probability of an ending is divided before endings are compared.
enum class Normalisation {
    none,        ///< llm.c and lm-evaluation-harness: acc
    tokens,      ///< of the ending, as encode_choices() has them: llm.c's acc_norm
    characters,  ///< of the ending, without the space: lm-evaluation-harness' acc_norm
};
inline constexpr std::size_t num_normalisations = 3;

/// Result of one task.
struct TaskChoice {
    std::vector<double> sums;          ///< log-probability of each ending, in nats; NaN: not finite
    std::vector<std::int32_t> tokens;  ///< of each ending
    /// The most likely ending, the first one of equals; empty if a sum is not finite.
    EnumArray<Normalisation, std::optional<std::int64_t>, num_normalisations> chosen;

    const std::optional<std::int64_t>& by(Normalisation normalisation) const { return chosen[normalisation]; }
};

/// Returns the number of characters of valid UTF-8: code points, as Python counts them.
std::int64_t num_characters(std::string_view text);

/// Returns the choice for each task.
///
/// \param rows  of encode_choices(tasks)
/// \param sums  log-probabilities of their endings
/// Source: llm.c, dev/data/hellaswag.py, evaluate(); lm-evaluation-harness, lm_eval/api/task.py,
///         MultipleChoiceTask.process_results()
std::vector<TaskChoice> choose(std::span<const ChoiceTask> tasks,
                               std::span<const ChoiceRow> rows,
                               std::span<const double> sums);

/// Number of correct choices among the tasks that have a label.
struct ChoiceCounts {
    std::int64_t tasks = 0;
    std::int64_t labelled = 0;
    std::int64_t undecided = 0;  ///< tasks with a sum that is not finite
    EnumArray<Normalisation, std::int64_t, num_normalisations> right = {};

    /// Returns the correct share of the tasks with a label. \pre there is such a task
    double accuracy(Normalisation normalisation) const;
    /// Returns its standard error for independent tasks; 0 for a single task.
    double standard_error(Normalisation normalisation) const;
};

ChoiceCounts count_right(std::span<const ChoiceTask> tasks, std::span<const TaskChoice> choices);

}  // namespace ziggurat::data
