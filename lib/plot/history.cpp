#include "plot/history.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/json_depth.hpp"
#include "base/looked_in.hpp"
#include "base/printable.hpp"
#include "base/text_width.hpp"

namespace ziggurat::plot {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int most_levels = 8;
constexpr std::int64_t most_steps = 1'000'000'000'000;
constexpr double most_tokens = 1e18;
constexpr int longest_reason = 300;                         ///< columns
constexpr std::size_t longest_line = std::size_t{1} << 20;  ///< of any metrics

[[noreturn]] void refuse(const std::string& problem) {
    throw Error{ErrorKind::deck, problem};
}

std::string file_of(const std::string& run) {
    std::error_code unused;
    if (!fs::exists(run, unused)) {
        refuse("'" + printable(run) + "' is not there (looked for in " + looked_in(run) +
               "). Name the folder of a run, such as runs/quickstart, or a file of metrics.");
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

/// Printable, and not longer than one wants to read.
std::string text(const Json& event, const char* field) {
    const auto found = event.find(field);
    return found != event.end() && found->is_string()
               ? shortened(printable(found->get<std::string>()), longest_reason)
               : "";
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
    Step step{
        .step = number_of_step,
        .time = number(event, "time"),
        .loss = finite(event, "loss"),
        .is_loss_finite = !event.contains("loss_nonfinite"),
        .tok_s = number(event, "tok_s"),
        .step_s = number(event, "step_s"),
        .tokens = static_cast<std::int64_t>(std::clamp(number(event, "tokens"), 0.0, most_tokens)),
        .tier_bytes = {number(event, "device_peak_B"), number(event, "host_peak_B"), number(event, "nvme_B")},
        .mfu = number(event, "mfu"),
        .lr = number(event, "lr"),
        .grad_norm = number(event, "grad_norm")};
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        step.stall_s[lane] = static_cast<float>(number(event, stall_fields()[lane].c_str()));
    }
    forget_from(history.steps, number_of_step);
    history.steps.push_back(step);
}

void start(History& history, const Json& event) {
    history.name = text(event, "name");
    history.ranks = static_cast<std::int64_t>(std::clamp(number(event, "ranks"), 0.0, 1e9));
    history.parameters = static_cast<std::int64_t>(std::clamp(number(event, "parameters"), 0.0, 1e18));
    history.planned_steps = static_cast<std::int64_t>(std::clamp(number(event, "steps"), 0.0, 1e12));
    history.budget_bytes = {number(event, "device_budget_B"), number(event, "host_budget_B"),
                            number(event, "nvme_budget_B")};
    history.end = std::nullopt;
}

/// What happens besides steps, validations and saves.
void add_event(History& history,
               const Json& event,
               const std::string& name,
               std::optional<std::int64_t> step) {
    const auto add = [&](std::string told) {
        history.events.push_back({number(event, "time"), step, std::move(told)});
    };
    if (name == "start") {
        add(fmt::format("start on {} ranks", static_cast<std::int64_t>(number(event, "ranks"))));
    } else if (name == "resume") {
        add("goes on from a checkpoint");
    } else if (name == "spike") {
        add(fmt::format("spike: loss {:.4g} (z {:.1f}), gradient norm {:.3g} (z {:.1f}){}",
                        number(event, "loss"), number(event, "loss_z"), number(event, "grad_norm"),
                        number(event, "grad_norm_z"),
                        event.value("skipped", Json{}) == true ? ", left out" : ""));
    } else if (name == "roll_back") {
        add(fmt::format("has gone back from step {:.0f}, because of a spike", number(event, "from_step")));
    } else if (name == "signal") {
        add("was sent " + text(event, "signal"));
    } else if (name == "stop") {
        add("stops: " + text(event, "reason"));
    } else if (name == "checkpoint_end" && event.value("ok", Json{}) != true) {
        add("a save was given up: " + text(event, "reason"));
    } else if (name == "end") {
        const int code = static_cast<int>(std::clamp(number(event, "exit_code"), 0.0, 255.0));
        history.end = End{number(event, "time"), code, text(event, "reason")};
        add(fmt::format("ends with {}: {}", code, history.end->reason));
    }
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
    history.last_time = std::max(history.last_time, number(event, "time"));
    add_event(history, event, name, step);
    if (name == "start") {
        start(history, event);
        return true;
    }
    if (name == "checkpoint_end" && step) {
        forget_from(history.saves, *step);
        history.saves.push_back({.step = *step,
                                 .is_ok = event.value("ok", Json{}) == true,
                                 .bytes = number(event, "bytes"),
                                 .seconds = number(event, "seconds"),
                                 .stood_still_s = number(event, "stood_still_s"),
                                 .reason = text(event, "reason")});
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

bool History::uses(MemoryTier tier) const {
    const auto i = static_cast<std::size_t>(tier);
    return std::ranges::any_of(steps, [i](const Step& step) { return step.tier_bytes[i] > 0; });
}

HistoryReader::HistoryReader(const std::string& run) : text_(longest_line + 1) {
    history_.path = file_of(run);
}

void HistoryReader::read() {
    struct stat found {};
    if (::stat(history_.path.c_str(), &found) != 0 || found.st_ino != file_ || found.st_size < offset_) {
        auto path = std::move(history_.path);
        history_ = {};
        history_.path = std::move(path);
        offset_ = 0;
        number_of_line_ = 0;
        file_ = found.st_ino;
    }
    std::ifstream in{history_.path, std::ios::binary};
    if (!in) {
        refuse("cannot read '" + printable(history_.path) + "'. Make it readable, or copy it.");
    }
    in.seekg(offset_);
    history_.is_last_line_cut = false;
    while (in.getline(text_.data(), std::ssize(text_)) || in.gcount() > 0) {
        const bool is_whole = !in.eof();
        if (in.fail()) {
            refuse(
                fmt::format("line {} of '{}' is longer than any of metrics. Name the folder of a run, or its "
                            "metrics.jsonl.",
                            number_of_line_ + 1, printable(history_.path)));
        }
        const std::string line{text_.data(), static_cast<std::size_t>(in.gcount() - (is_whole ? 1 : 0))};
        const bool is_event = add_line(history_, line) || line.empty();
        if (!is_event && !is_whole) {
            history_.is_last_line_cut = true;  // to be read again when there is more of it
            return;
        }
        ++number_of_line_;
        offset_ += in.gcount();
        if (!is_event && history_.bad_lines++ == 0) {
            history_.first_bad_line = number_of_line_;
        }
    }
}

History read_history(const std::string& run) {
    HistoryReader reader{run};
    reader.read();
    if (reader.history().steps.empty()) {
        refuse("'" + printable(reader.history().path) +
               "' tells of no step. Wait until the run has made one.");
    }
    return std::move(reader).take();
}

}  // namespace ziggurat::plot
