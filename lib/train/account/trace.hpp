/// Trace of all lanes with their waits, in the format of the Chrome and Perfetto viewers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::train {

/// One op or one wait.
///
/// `name` and `cause` must outlive the Trace: use labels of the program or string literals.
struct TraceRecord {
    std::string_view name;
    int lane = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::string_view cause = {};  ///< of a wait; empty for work
    std::int64_t bytes = 0;       ///< moved by the op; 0: none
};

/// A process in the viewer: a group of rows.
struct TraceProcess {
    int id = 0;
    std::string name;
};

/// Records of the last steps of one rank. Ops of one lane that overlap in time appear in separate rows.
///
/// Collective: local. No allocation after `keep_steps` steps.
class Trace {
  public:
    /// \param lanes       names, by lane number
    /// \param keep_steps  number of steps to keep, >= 1; older steps are dropped
    Trace(int rank, std::vector<std::string> lanes, int keep_steps);
    /// Has records of another process than a rank of this run.
    Trace(TraceProcess process, std::vector<std::string> lanes, int keep_steps);

    /// Starts `step`: later records belong to it.
    void begin_step(std::int64_t step);
    void add(const TraceRecord& record);

    /// Writes or replaces the file. Errors: Error{resource}
    void write(const std::string& path) const;
    /// Returns the text that write() writes.
    std::string json() const;
    /// Returns the events of that text, each with a comma and a line end; see trace_text.
    std::string events() const;

  private:
    struct Step {
        std::int64_t number = -1;
        std::vector<TraceRecord> records;
    };

    TraceProcess process_;
    std::vector<std::string> lanes_;
    std::vector<Step> steps_;  ///< ring buffer
    std::size_t current_ = 0;
};

/// Returns the text of a trace file with the events of several traces, at least one event in all.
std::string trace_text(std::span<const std::string> events);

/// Returns the file name of a rank's trace, such as `trace.rank0000.json`.
std::string trace_file_name(int rank);

}  // namespace ziggurat::train
