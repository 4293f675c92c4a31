#include "app/output/choice_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text/json_number.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"

namespace ziggurat::app {
namespace {

using data::Normalisation;

/// JSON key and table row of an accuracy.
struct AccuracyName {
    Normalisation setup;
    const char* key;
    const char* title;
    const char* of;
};
constexpr AccuracyName accuracies[] = {
    {Normalisation::none, "accuracy", "accuracy", "by sum of log-probabilities"},
    {Normalisation::tokens, "accuracy_normalised", "normalised", "by their mean over the ending's tokens"},
    {Normalisation::characters, "accuracy_per_character", "", "by sum over the ending's characters"},
};

nlohmann::ordered_json or_null(const std::optional<std::int64_t>& number) {
    return number ? nlohmann::ordered_json(*number) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::string choice_table(const ChoiceReport& report) {
    const auto& counts = report.counts;
    std::string text = fmt::format(
        "checkpoint  {}, step {}\ntask        {}, {} task{}{}\n", printable(report.checkpoint),
        format_grouped(report.step), printable(report.task), format_grouped(counts.tasks),
        counts.tasks == 1 ? "" : "s",
        counts.labelled == counts.tasks ? ""
        : counts.labelled == 0          ? ", without labels"
                               : fmt::format(", {} of them with a label", format_grouped(counts.labelled)));
    for (const auto& name : accuracies) {
        if (counts.labelled > 0) {
            text += fmt::format("{:<12}{:.4f}, standard error {:.4f}: {}\n", name.title,
                                counts.accuracy(name.setup), counts.standard_error(name.setup), name.of);
        }
    }
    if (report.skipped_tasks > 0) {
        text += fmt::format("skipped     {} task{} with an ending that adds no token\n",
                            format_grouped(report.skipped_tasks), report.skipped_tasks == 1 ? "" : "s");
    }
    if (counts.undecided > 0) {
        text += fmt::format("not finite  {} task{} without a choice\n", format_grouped(counts.undecided),
                            counts.undecided == 1 ? "" : "s");
    }
    return text + fmt::format("tokens      {} of endings, {} read\ntime        {}, {} tokens/s\n",
                              format_grouped(report.ending_tokens), format_grouped(report.read_tokens),
                              format_duration(report.seconds),
                              format_grouped(static_cast<std::int64_t>(
                                  static_cast<double>(report.read_tokens) / report.seconds)));
}

std::string choice_json(const ChoiceReport& report) {
    const auto& counts = report.counts;
    JsonLine line;
    line.begin();
    line.field("checkpoint", report.checkpoint);
    line.field("step", report.step);
    line.field("task", report.task);
    line.field("tasks", counts.tasks);
    line.field("labelled", counts.labelled);
    for (const auto& name : accuracies) {
        const std::string error = std::string{name.key} + "_standard_error";
        if (counts.labelled > 0) {
            line.field(name.key, counts.accuracy(name.setup));
            line.field(error, counts.standard_error(name.setup));
        } else {
            line.text_or_null(name.key, "");
            line.text_or_null(error, "");
        }
    }
    line.field("undecided", counts.undecided);
    line.field("tokens", report.ending_tokens);
    line.field("read_tokens", report.read_tokens);
    line.field("cut_contexts", report.cut_rows);
    line.field("skipped_tasks", report.skipped_tasks);
    line.field("seconds", report.seconds);
    return std::string{line.end()};
}

std::string choice_lines(std::span<const data::ChoiceTask> tasks, std::span<const data::TaskChoice> choices) {
    std::string text;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto& choice = choices[i];
        const nlohmann::ordered_json line{
            {"index", i},
            {"line", tasks[i].line},
            {"label", or_null(tasks[i].label)},
            {"choice", or_null(choice.by(Normalisation::none))},
            {"choice_normalised", or_null(choice.by(Normalisation::tokens))},
            {"choice_per_character", or_null(choice.by(Normalisation::characters))},
            {"sums", choice.sums},
            {"tokens", choice.tokens}};
        text += line.dump() + "\n";
    }
    return text;
}

}  // namespace ziggurat::app
