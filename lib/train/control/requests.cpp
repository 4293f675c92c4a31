#include "train/control/requests.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "base/text/units.hpp"

namespace ziggurat::train {

namespace {

/// Fraction of the time until a launcher kills the ranks. A save that needs more time gets a warning.
constexpr double sure_share = 0.5;

}  // namespace

int exit_code_of_stop(bool saves) {
    return saves ? exit_code_run_again : static_cast<int>(ErrorKind::checkpoint);
}

Requests::Requests(StopSignals& signals,
                   const std::string& folder,
                   std::optional<TimeLimit> limit,
                   const RunCapabilities& abilities,
                   FindEnd find_end)
    : signals_{signals},
      limit_{std::move(limit)},
      abilities_{abilities},
      find_end_{std::move(find_end)},
      pending_{{{StepRequest::checkpoint, ControlFile::checkpoint, abilities.saves},
                {StepRequest::validate, ControlFile::validate, abilities.validates},
                {StepRequest::report, ControlFile::report, true}}} {
    if (!folder.empty()) {
        files_.emplace(folder);
    }
    unreported_.reserve(2 * num_pending);
}

void Requests::poll(bool has_unsaved_steps) {
    if (own_level_ > 0) {
        return;
    }
    const bool is_file_there = files_ && files_->is_present(ControlFile::stop);
    const bool is_time_over = limit_ && (has_unsaved_steps ? limit_->is_near() : limit_->seconds_left() <= 0);
    if (is_file_there || is_time_over) {
        own_level_ = StopSignals::after_step;
        if (cause_ == StopCause::none && signals_.requested() == 0) {
            cause_ = is_file_there ? StopCause::touch_file : StopCause::time_limit;
        }
    }
}

void Requests::put_into(StepRequests& step_requests) {
    if (signals_.take_checkpoint_request()) {
        ask(pending_.front(), "received SIGUSR2");
    }
    if (files_) {
        for (auto& request : pending_) {
            if (!request.is_pending && files_->is_present(request.file)) {
                ask(request, fmt::format("found {}", name_of(request.file)));
            }
        }
    }
    poll(true);
    for (const auto& request : pending_) {
        if (request.is_pending) {
            step_requests[request.step_request] = 1;
        }
    }
    step_requests.ask_to_stop(requested());
}

void Requests::ask(PendingRequest& request, const std::string& who) {
    if (request.is_possible) {
        const auto* what = request.step_request == StepRequest::checkpoint ? "saves"
                           : request.step_request == StepRequest::validate ? "validates"
                                                                           : "prints the report";
        unreported_.push_back(fmt::format("{}: {} after this step, then continues", who, what));
        request.is_pending = true;
        return;
    }
    unreported_.push_back(
        request.step_request == StepRequest::checkpoint
            ? who + ", but checkpoints are off (checkpoint.every: none): continues without one"
            : who +
                  ", but there is nothing to validate on (data.validation, data.held_out): "
                  "continues");
    acknowledge(request.file);
}

void Requests::acknowledge(ControlFile file) {
    if (!files_ || !files_->is_present(file)) {
        return;
    }
    if (const auto failure = files_->acknowledged(file); !failure.empty()) {
        unreported_.push_back(
            message(Severity::warning,
                    fmt::format("cannot delete {} ({}). Delete it by hand; until then it is ignored",
                                name_of(file), failure)));
    }
}

void Requests::step_ended(const StepRequests& agreed, double step_seconds, StepRequests& step_requests) {
    for (auto& request : pending_) {
        // Requests of all ranks are granted here. A request that arrived during the step is granted too,
        // because the action follows the step.
        if (agreed[request.step_request] > 0) {
            if (request.is_pending) {
                step_requests[request.step_request] = 0;
            }
            request.is_pending = false;
            acknowledge(request.file);
        }
    }
    if (limit_) {
        limit_->step_took(step_seconds);
    }
    agreed_to_stop(agreed.stop_level());
}

void Requests::agreed_to_stop(int level) {
    agreed_ = std::max(agreed_, level);
    if (agreed_ > 0) {
        acknowledge(ControlFile::stop);
    }
    find_cause();
    signals_.merge(agreed_);
}

void Requests::checkpoint_took(double seconds) noexcept {
    save_seconds_ = seconds;
    if (limit_) {
        limit_->checkpoint_took(seconds);
    }
}

void Requests::find_cause() {
    if (cause_ == StopCause::none && (signals_.signal() != 0 || agreed_ > 0)) {
        cause_ = signals_.signal() != 0 ? StopCause::signal : StopCause::another_rank;
    }
}

std::optional<RequestMessage> Requests::next_message(const TrainingPosition& now) {
    if (!unreported_.empty()) {
        RequestMessage next_message{.text = unreported_.front(), .signal = "", .level = 0};
        unreported_.erase(unreported_.begin());
        return next_message;
    }
    if (requested() <= last_reported_) {
        return std::nullopt;
    }
    find_cause();
    last_reported_ = requested();
    return RequestMessage{.text = stop_text(now),
                          .signal = signals_.signal() != 0 ? signal_name(signals_.signal()) : "",
                          .level = last_reported_};
}

std::optional<LauncherGrace> Requests::launcher_end() const {
    return signals_.signal() == SIGTERM ? find_end_(signals_.sender()) : std::nullopt;
}

std::string Requests::killed_text(const TrainingPosition& now, const LauncherGrace& end) const {
    const double needed = (now.is_in_step ? now.step_seconds : 0) + save_seconds_;
    const bool is_known = now.step_seconds > 0 && save_seconds_ > 0;
    if (is_known && needed < sure_share * end.seconds_to_kill) {
        return "";
    }
    const std::string lost =
        now.saved_step < 0 ? "all steps (none is saved yet)"
        : now.saved_step == now.steps_done
            ? fmt::format("the running step (step {} is saved)", now.saved_step)
            : fmt::format("the steps since step {} (the last that is saved)", now.saved_step);
    const std::string stop = end.pid > 0 ? fmt::format("`kill -USR1 {}`", end.pid)
                                         : fmt::format("`pkill -USR1 {}` on its node", end.name);
    return fmt::format(
        "received SIGTERM from {}, which kills the ranks after {}. A step and a checkpoint {}; {} may be "
        "lost. To save before the stop, use {} or create STOP in the run directory instead. {} exits {}.",
        end.name, format_duration(end.seconds_to_kill),
        is_known ? "take " + format_duration(needed) : "may take longer", lost, stop, end.name,
        end.exit_code);
}

std::string Requests::stop_text(const TrainingPosition& now) const {
    const auto launcher = launcher_end();
    const bool saves = abilities_.saves && !now.is_starting;
    if (auto killed = launcher && saves ? killed_text(now, *launcher) : ""; !killed.empty()) {
        return killed;
    }
    const bool has_limit = limit_ && limit_->seconds_left() > 0;
    const std::string left =
        has_limit ? fmt::format(" ({} before {})", format_duration(limit_->seconds_left()), limit_->source())
                  : "";
    // The second stop request came by a signal, even if the first one did not.
    const bool is_signal =
        signals_.signal() != 0 && (cause_ == StopCause::signal || last_reported_ > StopSignals::after_step);
    const std::string who =
        is_signal                         ? "received " + signal_name(signals_.signal()) + left
        : cause_ == StopCause::touch_file ? fmt::format("found {}", name_of(ControlFile::stop))
        : cause_ == StopCause::time_limit && limit_->seconds_left() <= 0 ? limit_->source() + " is reached"
        : cause_ == StopCause::time_limit
            ? fmt::format("{} is {} away, a step{} may take {}", limit_->source(),
                          format_duration(limit_->seconds_left()),
                          abilities_.saves ? " and a checkpoint" : "",
                          format_duration(limit_->margin_seconds() / 2))
            : "another rank was asked to stop";
    if (now.is_starting) {
        return fmt::format(
            "{}: stops before step {}, exits {}{}", who, now.steps_done + 1, exit_code_run_again,
            launcher ? fmt::format(" ({} exits {})", launcher->name, launcher->exit_code) : "");
    }
    const std::string then = fmt::format(
        "{} exits {}{}", abilities_.saves ? "saves, then" : "saves nothing (checkpoint.every: none),",
        exit_code_of_stop(abilities_.saves),
        launcher ? fmt::format(" ({} exits {})", launcher->name, launcher->exit_code) : "");
    if (!now.is_in_step) {
        return fmt::format("{}: stops after step {}, {}", who, now.steps_done, then);
    }
    if (last_reported_ >= StopSignals::after_microbatch) {
        return fmt::format("{}{}: aborts step {} now, {}", who, is_signal ? " again" : "", now.steps_done + 1,
                           then);
    }
    const std::string when =
        now.step_seconds > 0 ? " (in about " + format_duration(now.step_seconds) + ")" : "";
    return fmt::format("{}: stops after step {}{}, {}", who, now.steps_done + 1, when, then);
}

std::vector<std::string> Requests::notes() const {
    return files_ ? files_->notes() : std::vector<std::string>{};
}

std::string Requests::reason() const {
    switch (cause_) {
        case StopCause::none:
            return "none";
        case StopCause::signal:
            return signal_name(signals_.signal());
        case StopCause::touch_file:
            return name_of(ControlFile::stop);
        case StopCause::time_limit:
            return "time limit";
        case StopCause::another_rank:
            break;
    }
    return "another rank";
}

}  // namespace ziggurat::train
