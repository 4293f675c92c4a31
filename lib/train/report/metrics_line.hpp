/// Lines of metrics.jsonl as this program reads them again, and the line of an end, which many write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ziggurat::train {

/// Facts of one line; what the line does not have is empty.
struct MetricsLine {
    std::string event = {};
    std::optional<std::int64_t> step = {};
    double time = 0;                             ///< seconds since 1970
    std::optional<std::int64_t> oom_kills = {};  ///< of `start`
    std::string signal = {};                     ///< of `signal`
};

/// Reads a line; nothing if it is no object, is nested too deep, or has a step that is no count.
std::optional<MetricsLine> parse_metrics_line(const std::string& line);

/// Facts of the last line of a job.
struct EndLine {
    std::string_view event = "end";  ///< or `crash`
    double time = 0;
    std::int64_t step = 0;
    std::int64_t tokens = 0;  ///< 0: not known
    std::optional<int> exit_code = {};
    std::string_view reason = {};
};

/// The line with its end.
std::string text_of(const EndLine& end);

}  // namespace ziggurat::train
