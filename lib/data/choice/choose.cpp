#include "data/choice/choose.hpp"

#include <algorithm>
#include <cmath>

#include "base/contract.hpp"

namespace ziggurat::data {
namespace {

/// Returns the ending of `task` with the largest ratio of sum to length.
template <class Length>
std::int64_t most_likely(const TaskChoice& task, const Length& length) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < task.sums.size(); ++i) {
        best = task.sums[i] / length(i) > task.sums[best] / length(best) ? i : best;
    }
    return static_cast<std::int64_t>(best);
}

TaskChoice choose_one(const ChoiceTask& task, std::span<const ChoiceRow> rows, std::span<const double> sums) {
    TaskChoice choice;
    choice.sums.assign(sums.begin(), sums.end());
    for (const auto& row : rows) {
        choice.tokens.push_back(row.ending);
    }
    if (!std::ranges::all_of(sums, [](double sum) { return std::isfinite(sum); })) {
        return choice;
    }
    const auto by = [&](Normalisation normalisation) -> auto& {
        return choice.chosen[normalisation];
    };
    by(Normalisation::none) = most_likely(choice, [](std::size_t) { return 1.0; });
    by(Normalisation::tokens) =
        most_likely(choice, [&](std::size_t i) { return static_cast<double>(choice.tokens[i]); });
    by(Normalisation::characters) = most_likely(
        choice, [&](std::size_t i) { return static_cast<double>(num_characters(task.endings[i])); });
    return choice;
}

}  // namespace

std::int64_t num_characters(std::string_view text) {
    return std::ranges::count_if(text,
                                 [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; });
}

std::vector<TaskChoice> choose(std::span<const ChoiceTask> tasks,
                               std::span<const ChoiceRow> rows,
                               std::span<const double> sums) {
    ZG_EXPECTS(rows.size() == sums.size());
    std::vector<TaskChoice> choices;
    std::size_t row = 0;
    for (const auto& task : tasks) {
        const auto endings = task.endings.size();
        ZG_EXPECTS(row + endings <= rows.size());
        choices.push_back(choose_one(task, rows.subspan(row, endings), sums.subspan(row, endings)));
        row += endings;
    }
    ZG_ENSURES(row == rows.size());
    return choices;
}

double ChoiceCounts::accuracy(Normalisation normalisation) const {
    ZG_EXPECTS(labelled > 0);
    return static_cast<double>(right[normalisation]) / static_cast<double>(labelled);
}

double ChoiceCounts::standard_error(Normalisation normalisation) const {
    const double share = accuracy(normalisation);
    return labelled == 1 ? 0 : std::sqrt(share * (1 - share) / static_cast<double>(labelled - 1));
}

ChoiceCounts count_right(std::span<const ChoiceTask> tasks, std::span<const TaskChoice> choices) {
    ZG_EXPECTS(tasks.size() == choices.size());
    ChoiceCounts counts;
    counts.tasks = std::ssize(tasks);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        counts.undecided += choices[i].by(Normalisation::none) ? 0 : 1;
        counts.labelled += tasks[i].label ? 1 : 0;
        for (std::size_t normalisation = 0; normalisation < num_normalisations; ++normalisation) {
            const auto& chosen = choices[i].chosen[normalisation];
            counts.right[normalisation] += tasks[i].label && chosen == tasks[i].label ? 1 : 0;
        }
    }
    return counts;
}

}  // namespace ziggurat::data
