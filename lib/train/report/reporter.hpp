/// Reporter of a training: lines on the console, metrics.jsonl, files of the run directory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/progress.hpp"
#include "comm/context.hpp"
#include "kernels/attention.hpp"
#include "spec/run_spec.hpp"
#include "train/account/accounting.hpp"
#include "train/account/step_report.hpp"
#include "train/control/due.hpp"
#include "train/control/requests.hpp"
#include "train/report/console.hpp"
#include "train/report/event_file.hpp"
#include "train/report/metrics.hpp"
#include "train/report/run_directory.hpp"
#include "train/report/step_line.hpp"

namespace ziggurat::train {

struct RunContext;

/// Rank 0's voice. On the other ranks every member does nothing and may be called all the same.
///
/// Collective: local, each member
class Reporter {
  public:
    /// On rank 0: takes the run directory, in which nothing is touched yet.
    ///
    /// Errors: Error{resource}
    Reporter(const spec::RunSpec& spec,
             const RunContext& context,
             const comm::Context& world,
             Console& console);

    /// Opens run.log and metrics.jsonl and writes the deck in effect and the environment: anew, with the
    /// files of an earlier run kept aside, or, after so many steps, going on where they were then.
    ///
    /// Errors: Error{resource}; Error{deck} when there are checkpoints that nobody wants to go on from
    void open(std::optional<std::int64_t> resumed_step);

    /// In the place of open() and all that follows: this run's folder has come to `step`, its last, before.
    /// Its files stay as they are.
    ///
    /// \param why_ended  of a run that validation losses have ended before all steps were done; else empty
    void finished_before(std::int64_t step, const std::string& why_ended);

    /// \param fields          of the steps of this run
    /// \param why_not_shared  as of Assembly: what is not as fast as it could be
    /// \param attention       as of Assembly; on GPUs a line says which kernels serve them
    void start(const StepFields& fields,
               const std::string& why_not_shared,
               const kernels::AttentionOps& attention);
    void step(const StepReport& report, bool is_last);
    /// The run has gone back, after open(), to a checkpoint of `step` because of a spike in step `from`.
    void roll_back(std::int64_t step, std::int64_t from, std::int64_t next_sample);
    void validation(const ValidationReport& report);
    void sample(std::int64_t step, const std::string& continuation);
    void checkpoint_begin(std::int64_t step, std::int64_t bytes, bool is_async);
    void checkpoint_end(const CheckpointReport& report);

    /// A folder that somebody has removed is made anew, with the deck, the environment, the log and metrics
    /// from here on: for a checkpoint to go there.
    ///
    /// Errors: Error{resource}, also when another run has taken its place
    void renew_folder();

    /// A descriptor of metrics.jsonl for a flush beside training; none on other ranks.
    FileHandle metrics_again() const { return files_ ? files_->metrics.again() : FileHandle{}; }
    /// For messages about it.
    std::string metrics_path() const { return files_ ? files_->metrics.path() : std::string{}; }
    /// rank 0's way into the run's folder; empty on others.
    std::string way() const { return directory_ ? directory_->held().way() : std::string{}; }

    /// `text` with the folder's name in the place of the way.
    std::string said(const std::string& text) const {
        return directory_ ? directory_->held().said(text) : text;
    }

    /// The run ends after so many steps, where it goes on with another end than its deck alone says.
    void ends_after(std::int64_t steps) noexcept { end_step_ = steps; }

    /// A line for people, such as `note: ...`. A warning also becomes an event of metrics.jsonl.
    void say(const std::string& line);

    /// Names the work that takes time before the first step: on a terminal, in a moving line at the bottom,
    /// where it may be told how far it has come.
    ///
    /// \param amounts  as of ProgressLine
    Progress& busy(const std::string& what, const std::string& amounts = "");

    /// Tells requests as soon as they are known. Cheap: called between ops.
    ///
    /// \param now      but for what a step takes, which is known here
    /// \param own_table  the account as far as this rank knows it, made only when it may be the last chance
    void news(Requests& requests, Moment now, const std::function<std::string()>& own_table);

    /// The account of all ranks so far: into perf.txt, and shown when somebody has asked for it. A failing
    /// write is a warning.
    void account(const std::string& table, bool is_shown);

    /// The run ends with an error: metrics.jsonl and run.log say so, whatever thread finds it out. Nothing
    /// when metrics have ended. On another rank it is told in the place of rank 0 where that is gone.
    ///
    /// \param is_own_reason  as comm::Departure::LastWords has it
    void break_down(std::string_view reason, int exit_code, bool is_own_reason) noexcept;

    /// \param table  the account of all ranks
    void end(const RunEnd& facts, const Requests& requests, const std::string& table);

  private:
    /// `warning: text`
    void warn(const std::string& text);
    void keep_warning(const std::string& line);
    void write_facts(std::optional<std::int64_t> resumed_step);
    /// Warns once: a validation comes again and again.
    void warn_of_no_targets(std::int64_t step);
    /// Warns, once, when somebody has renamed or removed it.
    void look_after_folder();
    /// A text that `make` fits into so many columns; 0: all of it.
    void print_fitted(const std::function<std::string(int columns)>& make);

    /// Members that only rank 0 has.
    struct Files {
        Files(const std::string& metrics_path, Metrics::Warn warn, const spec::Interval& line_every)
            : metrics{metrics_path, std::move(warn)}, is_line_due{line_every} {}

        Metrics metrics;
        std::optional<EventFile> events = {};  ///< where the deck wants one
        std::optional<StepLine> line = {};     ///< from start() on
        Due is_line_due;
    };

    const spec::RunSpec& spec_;
    std::int64_t end_step_ = spec_.train.steps;  ///< of the run
    const RunContext& context_;
    comm::Context world_;
    Console& console_;
    std::optional<RunDirectory> directory_;
    std::optional<Files> files_;
    std::optional<std::int64_t> resumed_step_;
    std::string unsaved_reason_;               ///< of the latest save; empty: it is complete
    Progress progress_;                        ///< until the first step is done
    std::vector<std::string> early_warnings_;  ///< before open()
    bool has_warned_of_no_targets_ = false;
    double step_seconds_ = 0;
    std::int64_t looked_ns_ = 0;  ///< after the folder
};

}  // namespace ziggurat::train
