#include "deck/slurm/batch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/contract.hpp"
#include "base/error.hpp"

namespace ziggurat::deck {
namespace {

constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:=@%+-/";

bool is_plain(std::string_view text) {
    return !text.empty() && text.find_first_not_of(plain) == text.npos;
}

/// Parses whole numbers separated by colons; returns nullopt for an invalid or very long number.
std::optional<std::vector<std::int64_t>> numbers_of(std::string_view text) {
    constexpr std::size_t max_digits = 7;
    std::vector<std::int64_t> numbers;
    for (std::size_t at = 0; at <= text.size();) {
        const auto end = std::min(text.find(':', at), text.size());
        const auto keyword = text.substr(at, end - at);
        std::int64_t number = 0;
        const auto [stop, problem] = std::from_chars(keyword.data(), keyword.data() + keyword.size(), number);
        if (keyword.empty() || keyword.size() > max_digits || problem != std::errc{} ||
            stop != keyword.data() + keyword.size() || number < 0) {
            return std::nullopt;
        }
        numbers.push_back(number);
        at = end + 1;
    }
    return numbers;
}

/// Replaces the line of `script` that begins with `begin` by `filled`.
void fill_in(std::string& script, std::string_view begin, const std::string& filled) {
    const auto before = script.find("\n" + std::string{begin});
    if (before == script.npos) {
        throw Error{
            ErrorKind::internal,
            fmt::format("train.sbatch has no line '{}'. A bug in ziggurat: please report it.", begin)};
    }
    const auto end = script.find('\n', before + 1);
    script.replace(before + 1, std::min(end, script.size()) - before - 1, filled);
}

std::string option(std::string_view name, std::string_view value) {
    return fmt::format("#SBATCH --{}={}", name, sbatch_value(value));
}

/// Returns options that the shipped script leaves to the cluster's defaults.
std::string options_besides(const BatchJob& job) {
    std::string lines;
    const auto add = [&](std::string_view name, const std::string& value) {
        lines += "\n" + option(name, value);
    };
    if (!job.account.empty()) {
        add("account", job.account);
    }
    if (!job.partition.empty()) {
        add("partition", job.partition);
    }
    if (job.cpus_per_task > 0) {
        add("cpus-per-task", std::to_string(job.cpus_per_task));
    }
    if (job.gpus_per_node > 0) {
        add("gpus-per-node", std::to_string(job.gpus_per_node));
    }
    if (!job.array.empty()) {
        add("array", fmt::format("0-{}", job.array.size() - 1));
    }
    return lines;
}

std::string set_line(const BatchJob& job, const std::vector<std::string>& overrides) {
    std::string words = shell_word(job.deck);
    for (const auto& word : overrides) {
        words += " " + shell_word(word);
    }
    return fmt::format("set -- {} \"$@\"", words);
}

/// Returns the lines that set the words of the training.
std::string set_lines(const BatchJob& job) {
    if (job.array.empty()) {
        return set_line(job, job.overrides);
    }
    std::string lines = "case ${SLURM_ARRAY_TASK_ID:-} in\n";
    for (std::size_t task = 0; task < job.array.size(); ++task) {
        lines += fmt::format("  {}) {} ;;\n", task, set_line(job, job.array[task]));
    }
    return lines +
           "  *) echo \"train.sbatch: this is a job array: submit it with sbatch\" && exit 2 ;;\nesac";
}

}  // namespace

std::optional<std::int64_t> slurm_seconds(std::string_view time) {
    constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
    const auto dash = time.find('-');
    const bool has_days = dash != time.npos;
    const auto days = has_days ? numbers_of(time.substr(0, dash)) : std::vector<std::int64_t>{0};
    const auto parts = numbers_of(has_days ? time.substr(dash + 1) : time);
    if (!days || days->size() != 1 || !parts || parts->size() > 3) {
        return std::nullopt;
    }
    // One number is minutes, two are minutes and seconds; after days the first is hours.
    const std::vector<std::int64_t> units = has_days || parts->size() == 3
                                                ? std::vector<std::int64_t>{hour, minute, 1}
                                                : std::vector<std::int64_t>{minute, 1};
    std::int64_t seconds = days->front() * day;
    for (std::size_t i = 0; i < parts->size(); ++i) {
        seconds += (*parts)[i] * units[i];
    }
    return seconds > 0 ? std::optional{seconds} : std::nullopt;
}

std::int64_t warning_seconds(std::int64_t job_seconds) {
    return std::clamp<std::int64_t>(job_seconds / 4, 1, 300);
}

std::string shell_word(std::string_view text) {
    if (is_plain(text)) {
        return std::string{text};
    }
    std::string keyword = "'";
    for (const char c : text) {
        keyword += c == '\'' ? std::string{"'\\''"} : std::string{c};
    }
    return keyword + "'";
}

std::string sbatch_value(std::string_view text) {
    ZG_EXPECTS(text.find('\n') == text.npos);
    if (is_plain(text)) {
        return std::string{text};
    }
    std::string value = "\"";
    for (const char c : text) {
        value += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    }
    return value + "\"";
}

std::string batch_script(std::string_view shipped, const BatchJob& job) {
    const auto seconds = slurm_seconds(job.time);
    ZG_EXPECTS(seconds && job.nodes > 0 && job.tasks_per_node > 0);
    std::string script{shipped};
    fill_in(script, "#   sbatch ",
            "#   sbatch FILE [key=value...]     this file, which 'ziggurat slurm' has written");
    fill_in(script, "#SBATCH --job-name=", option("job-name", job.name));
    fill_in(script, "#SBATCH --nodes=", option("nodes", std::to_string(job.nodes)));
    fill_in(script,
            "#SBATCH --ntasks-per-node=", option("ntasks-per-node", std::to_string(job.tasks_per_node)));
    fill_in(script, "#SBATCH --time=", option("time", job.time) + options_besides(job));
    fill_in(script,
            "#SBATCH --signal=", fmt::format("#SBATCH --signal=B:USR1@{}", warning_seconds(*seconds)));
    fill_in(script, "program_here=", "program_here=" + shell_word(job.program));
    fill_in(script, "set -- ", set_lines(job));
    return script;
}

}  // namespace ziggurat::deck
