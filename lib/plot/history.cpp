#include "plot/history.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json_depth.hpp"
#include "base/printable.hpp"

namespace ziggurat::plot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int most_levels = 8;
constexpr std::int64_t most_steps = 1'000'000'000'000;

[[noreturn]] void refuse(const std::string& problem) {
    throw Error{ErrorKind::deck, problem};
}

std::string file_of(const std::string& run) {
    std::error_code unused;
    if (!fs::exists(run, unused)) {
        refuse("'" + printable(run) +
               "' is not there. Name the folder of a run, such as runs/quickstart, or a file of metrics.");
    }
    const bool is_folder = fs::is_directory(run, unused);
    const std::string file = is_folder ? (fs::path{run} / "metrics.jsonl").string() : run;
    if (!fs::exists(file, unused)) {
        refuse("'" + printable(run) +
               "' has no metrics.jsonl (it is no folder of a run, or the run has not come to training). Name "
               "the folder that run.dir of the training says.");
    }
    if (!fs::is_regular_file(file, unused)) {
        refuse("'" + printable(file) +
               "' is no regular file. Name the folder of a run, or its metrics.jsonl.");
    }
    return file;
}

double number(const Json& event, const char* field) {
    const auto found = event.find(field);
    return found != event.end() && found->is_number() ? found->get<double>() : 0;
}

std::optional<double> finite(const Json& event, const char* field) {
    const auto found = event.find(field);
    if (found == event.end() || !found->is_number() || !std::isfinite(found->get<double>())) {
        return std::nullopt;
    }
    return found->get<double>();
}

std::optional<std::int64_t> step_of(const Json& event) {
    const auto found = event.find("step");
    if (found == event.end() || !found->is_number_integer()) {
        return std::nullopt;
    }
    const auto step = found->get<std::int64_t>();
    return step >= 0 && step <= most_steps ? std::optional{step} : std::nullopt;
}

const std::array<std::string, lanes.size()>& stall_fields() {
    static const auto fields = [] {
        std::array<std::string, lanes.size()> made;
        for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
            made[lane] = "stall_" + std::string{lanes[lane]} + "_s";
        }
        return made;
    }();
    return fields;
}

/// Forgets what a run that went on from an earlier step does again.
template <class T>
void forget_from(std::vector<T>& rows, std::int64_t step) {
    while (!rows.empty() && rows.back().step >= step) {
        rows.pop_back();
    }
}

void add_step(History& history, const Json& event, std::int64_t number_of_step) {
    Step step{.step = number_of_step,
              .loss = finite(event, "loss"),
              .is_loss_finite = !event.contains("loss_nonfinite"),
              .tok_s = number(event, "tok_s"),
              .step_s = number(event, "step_s")};
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        step.stall_s[lane] = static_cast<float>(number(event, stall_fields()[lane].c_str()));
    }
    forget_from(history.steps, number_of_step);
    history.steps.push_back(step);
}

/// False when `line` is no event of a run.
bool add_line(History& history, const std::string& line) {
    if (is_json_deeper(line, most_levels)) {
        return false;
    }
    const Json event = Json::parse(line, nullptr, false);
    const auto kind = event.is_object() ? event.value("event", Json{}) : Json{};
    if (!kind.is_string()) {
        return false;
    }
    const auto name = kind.get<std::string>();
    const auto step = step_of(event);
    if (name == "start") {
        const auto given = event.value("name", Json{});
        history.name = given.is_string() ? given.get<std::string>() : "";
        history.ranks = static_cast<std::int64_t>(std::clamp(number(event, "ranks"), 0.0, 1e9));
        history.parameters = static_cast<std::int64_t>(std::clamp(number(event, "parameters"), 0.0, 1e18));
        return true;
    }
    if (name == "step" || name == "validate" || name == "resume") {
        if (!step) {
            return false;
        }
        if (name == "step") {
            add_step(history, event, *step);
        } else if (name == "resume") {
            history.restarts.push_back(*step);
        } else if (const auto loss = finite(event, "loss")) {
            forget_from(history.validations, *step);
            history.validations.push_back({*step, *loss});
        }
    }
    return true;
}

}  // namespace

bool History::waits_for(std::size_t lane) const {
    return std::ranges::any_of(steps, [lane](const Step& step) { return step.stall_s[lane] > 0; });
}

History read_history(const std::string& run) {
    History history;
    history.path = file_of(run);
    std::ifstream in{history.path, std::ios::binary};
    if (!in) {
        refuse("cannot read '" + printable(history.path) + "'. Make it readable, or copy it.");
    }
    std::int64_t number_of_line = 0;
    for (std::string line; std::getline(in, line);) {
        ++number_of_line;
        const bool is_whole = !in.eof();
        if (add_line(history, line) || line.empty()) {
            continue;
        }
        if (!is_whole) {
            history.is_last_line_cut = true;
        } else if (history.bad_lines++ == 0) {
            history.first_bad_line = number_of_line;
        }
    }
    if (history.steps.empty()) {
        refuse("'" + printable(history.path) + "' tells of no step. Wait until the run has made one.");
    }
    return history;
}

}  // namespace ziggurat::plot
