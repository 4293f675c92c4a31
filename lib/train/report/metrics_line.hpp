/// Parser for lines of metrics.jsonl, and the last line of a job, which has several writers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::train {

/// Facts of one line. Missing fields are empty.
struct MetricsLine {
    std::string event = {};
    std::optional<std::int64_t> step = {};
    double time = 0;                             ///< seconds since 1970
    std::optional<std::int64_t> oom_kills = {};  ///< of event `start`
    std::string signal = {};                     ///< of event `signal`
};

/// Parses a line. Returns nullopt if it is not an object, is nested too deep, or has an invalid step.
std::optional<MetricsLine> parse_metrics_line(const std::string& line);

/// Facts of the last line of a job.
struct EndLine {
    std::string_view event = "end";  ///< or `crash`
    double time = 0;
    std::int64_t step = 0;
    std::int64_t tokens = 0;  ///< 0: unknown
    std::optional<int> exit_code = {};
    std::string_view reason = {};
};

/// Returns the line with its newline.
std::string text_of(const EndLine& end);

}  // namespace ziggurat::train
