/// Reporter of a training: console lines, metrics.jsonl, and files of the run directory.
#pragma once

#include <functional>
#include <optional>
#include <span>
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
#include "train/console/console.hpp"
#include "train/control/interval_trigger.hpp"
#include "train/control/requests.hpp"
#include "train/hook/event_hook.hpp"
#include "train/ops/product_record.hpp"
#include "train/ops/unit_norms.hpp"
#include "train/report/event_file.hpp"
#include "train/report/metrics.hpp"
#include "train/report/run_directory.hpp"
#include "train/report/step_line.hpp"

namespace ziggurat::model {
struct GluOps;
}  // namespace ziggurat::model

namespace ziggurat::train {

struct RunContext;

/// Output of rank 0. Other ranks may call all members too; only break_down() has an effect there.
///
/// Collective: local, each member
class Reporter {
  public:
    /// On rank 0, locks the run directory but does not change its contents.
    ///
    /// Errors: Error{resource}
    Reporter(const spec::RunSpec& spec,
             const RunContext& context,
             const comm::Context& world,
             Console& console);

    /// Opens run.log and metrics.jsonl, and writes the effective deck and the environment.
    ///
    /// Without `resumed_step`, starts new files and keeps those of an earlier run under other names.
    /// Otherwise continues the files after that step.
    ///
    /// Errors: Error{resource}; Error{deck} if there are checkpoints but run.resume is never
    void open(std::optional<std::int64_t> resumed_step);

    /// Reports that the run had already finished at `step`. Call instead of open() and all other members.
    ///
    /// Its files stay unchanged, except DONE and run.log.
    ///
    /// \param ended_reason  reason if validation losses had ended the run early; else empty
    void finished_before(std::int64_t step, const std::string& ended_reason);

    /// Writes the start of training.
    ///
    /// \param fields          of the steps of this run
    /// \param not_shared_reason  as of Assembly: reason why collectives on a node are slower than possible
    /// \param attention       as of Assembly; on GPUs a line names the kernels that compute it
    /// \param glu             as of Assembly; with precision.products fused a line says what cuDNN fuses
    void start(const StepFields& fields,
               const std::string& not_shared_reason,
               const kernels::AttentionOps& attention,
               const model::GluOps& glu);
    /// Writes a file of the run directory, after open().
    void keep(std::string_view name, std::string_view content);
    void step(const StepReport& report, bool is_last);
    /// Writes the norms of each unit in a step, after step().
    void norms(std::int64_t step, std::span<const UnitNorms> units);
    /// Writes products.json, after open(), if products are measured; see Assembly::products().
    void keep_products(const ProductRecord& products);
    /// Reports a rollback, after open(), to a checkpoint of `step` because of a spike in step `from`.
    void roll_back(std::int64_t step, std::int64_t from, std::int64_t next_sample);
    void validation(const ValidationReport& report);
    /// Records that this validation is the best one of its data.
    void best(const ValidationReport& report);
    void sample(std::int64_t step, const std::string& continuation);
    void checkpoint_begin(std::int64_t step, std::int64_t bytes, bool is_async);
    void checkpoint_end(const CheckpointReport& report);

    /// Recreates a run directory that was removed, so that a checkpoint can be written to it.
    ///
    /// Writes the deck and the environment, and starts new files for log and metrics.
    ///
    /// Errors: Error{resource}, also if another run uses its path
    void renew_folder();

    /// Locks the folder of checkpoints, as RunDirectory does. Returns the reason if another job has locked
    /// it.
    std::string lock_checkpoints() { return directory_ ? directory_->lock_checkpoints() : std::string{}; }

    /// Returns a descriptor of metrics.jsonl for a flush concurrent with training; invalid on other ranks.
    FileHandle metrics_again() const { return files_ ? files_->metrics.again() : FileHandle{}; }
    /// Returns the path of metrics.jsonl, for messages.
    std::string metrics_path() const { return files_ ? files_->metrics.path() : std::string{}; }
    /// Returns the path of rank 0's handle of the run directory; empty on other ranks.
    std::string fd_path() const { return directory_ ? directory_->held().fd_path() : std::string{}; }

    /// Returns `text` with the handle's path replaced by the directory's name.
    std::string with_display_path(const std::string& text) const {
        return directory_ ? directory_->held().with_display_path(text) : text;
    }

    /// Sets the last step, if a resumed run ends at another step than its deck defines.
    void ends_after(std::int64_t steps) noexcept { end_step_ = steps; }

    /// Prints a human-readable line, such as `note: ...`. A warning also becomes an event of metrics.jsonl.
    void print_line(const std::string& line);

    /// Starts the report of long work before the first step, on a terminal in the live line.
    ///
    /// Returns the object to which the caller reports progress.
    ///
    /// \param amounts  as of ProgressLine
    Progress& busy(const std::string& what, const std::string& amounts = "");

    /// Reports new requests. Cheap: called between ops.
    ///
    /// \param now        progress, except the step time, which the reporter has itself
    /// \param own_table  returns the account of this rank; called only if it may be the last opportunity
    void print_messages(Requests& requests,
                        TrainingPosition now,
                        const std::function<std::string()>& own_table);

    /// Writes the account of all ranks so far to perf.txt, and prints it if `is_shown`.
    ///
    /// A failed write causes a warning.
    void account(const std::string& table, bool is_shown);

    /// Writes the error that ends the run to metrics.jsonl and run.log. Any thread.
    ///
    /// Does nothing if the last line has been written. Another rank writes it if rank 0 no longer exists.
    ///
    /// \param is_own_reason  as in comm::ProcessAbort::LastMessage
    void break_down(std::string_view reason, int exit_code, bool is_own_reason) noexcept;

    /// Reports the end of the run.
    ///
    /// \param table  the account of all ranks
    void end(const RunEnd& facts, const Requests& requests, const std::string& table);

  private:
    /// Opens the hook of run.on_event, or its file of output again.
    void open_hook();
    void report_end(const RunEnd& facts, const Requests& requests, const std::string& table);
    /// Prints `warning: text`.
    void warn(const std::string& text);
    void report_glu_products(const model::GluOps& glu);
    void keep_warning(const std::string& line);
    void write_facts(std::optional<std::int64_t> resumed_step);
    /// Warns only once, because validations repeat.
    void warn_of_no_targets(std::int64_t step);
    /// Warns once if the run directory was renamed or removed.
    void check_run_directory();
    /// Prints the text that `make` fits into a number of columns; 0: no limit.
    void print_fitted(const std::function<std::string(int columns)>& make);

    /// Members that exist only on rank 0.
    struct Files {
        Files(const std::string& metrics_path, Metrics::Print print, const spec::Interval& line_every)
            : metrics{metrics_path, std::move(print)}, is_line_due{line_every} {}

        Metrics metrics;
        std::optional<EventHook> hook = {};    ///< if the deck sets run.on_event
        std::optional<EventFile> events = {};  ///< if the deck enables it
        std::optional<StepLine> line = {};     ///< from start() on
        IntervalTrigger is_line_due;
    };

    const spec::RunSpec& spec_;
    std::int64_t end_step_ = spec_.train.steps;  ///< last step of the run
    const RunContext& context_;
    comm::Context world_;
    Console& console_;
    std::optional<RunDirectory> directory_;
    std::optional<Files> files_;
    std::optional<std::int64_t> resumed_step_;
    std::string unsaved_reason_;               ///< of the latest save; empty: it is complete
    Progress progress_;                        ///< used until the first step has completed
    std::vector<std::string> early_warnings_;  ///< warnings before open()
    bool has_warned_of_no_targets_ = false;
    double step_seconds_ = 0;
    std::int64_t looked_ns_ = 0;  ///< time of the last check of the run directory
};

}  // namespace ziggurat::train
