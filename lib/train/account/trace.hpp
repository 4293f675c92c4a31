/// Trace of all lanes, with their waits, in the format of Chrome's and Perfetto's viewers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ziggurat::train {

/// One op or one wait. `name` and `cause` must outlive the Trace: labels of the program, string literals.
struct TraceRecord {
    std::string_view name;
    int lane = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    std::string_view cause = {};  ///< of a wait; empty for work
    std::int64_t bytes = 0;       ///< that it moved; 0: none
};

/// The records of the last steps of one rank. What is under way on a lane at the same time stands in rows of
/// its own.
///
/// Collective: local. No allocation once `keep_steps` steps have been seen.
class Trace {
  public:
    /// \param lanes       their names, by lane number
    /// \param keep_steps  older steps are forgotten, >= 1
    Trace(int rank, std::vector<std::string> lanes, int keep_steps);

    /// Records from here on belong to `step`.
    void begin_step(std::int64_t step);
    void add(const TraceRecord& record);

    /// Writes the file anew. Errors: Error{resource}
    void write(const std::string& path) const;
    /// The text that write() writes.
    std::string json() const;

  private:
    struct Step {
        std::int64_t number = -1;
        std::vector<TraceRecord> records;
    };

    int rank_;
    std::vector<std::string> lanes_;
    std::vector<Step> steps_;  ///< a ring
    std::size_t current_ = 0;
};

/// `trace.rank0000.json`
std::string trace_file_name(int rank);

}  // namespace ziggurat::train
