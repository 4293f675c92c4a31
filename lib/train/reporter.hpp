/// What a run tells while it trains: lines on the console, metrics.jsonl, files of the run directory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "spec/run_spec.hpp"
#include "train/accounting.hpp"
#include "train/console.hpp"
#include "train/due.hpp"
#include "train/metrics.hpp"
#include "train/requests.hpp"
#include "train/run_directory.hpp"
#include "train/step_line.hpp"
#include "train/step_report.hpp"

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
             const comm::Communicator& world,
             Console& console);

    /// Opens run.log and metrics.jsonl and writes the deck in effect and the environment: anew, with the
    /// files of an earlier run kept aside, or, after so many steps, going on where they were then.
    ///
    /// Errors: Error{resource}; Error{deck} when there are checkpoints that nobody wants to go on from
    void open(std::optional<std::int64_t> resumed_step);

    /// In the place of open() and all that follows: this run's folder has come to `step`, its last, before.
    /// Its files stay as they are.
    void finished_before(std::int64_t step);

    /// \param why_not_shared  as of Assembly: what is not as fast as it could be
    void start(const RunFacts& facts, const std::string& why_not_shared);
    void step(const StepReport& report, bool is_last);
    void validation(const ValidationReport& report);
    void sample(std::int64_t step, const std::string& continuation);
    void checkpoint_begin(std::int64_t step, std::int64_t bytes, bool is_async);
    void checkpoint_end(const CheckpointReport& report);

    /// A line for people, such as `note: ...`.
    void say(const std::string& line);

    /// What was asked for, as soon as it is known. Cheap: called between ops.
    ///
    /// \param account  the table as far as this rank knows it, made only when it may be the last chance
    void news(Requests& requests,
              std::int64_t steps_done,
              bool is_in_step,
              const std::function<std::string()>& account);

    /// The account of all ranks so far: into perf.txt, and shown when somebody has asked for it. A failing
    /// write is a warning.
    void account(const std::string& table, bool is_shown);

    /// \param table  the account of all ranks
    void end(const RunEnd& facts, const Requests& requests, const std::string& table);

  private:
    /// What only rank 0 has.
    struct Files {
        Metrics metrics;
        StepLine line;
        Due is_line_due;
    };

    const spec::RunSpec& spec_;
    const RunContext& context_;
    const comm::Communicator& world_;
    Console& console_;
    std::optional<RunDirectory> directory_;
    std::optional<Files> files_;
    double step_seconds_ = 0;
};

}  // namespace ziggurat::train
