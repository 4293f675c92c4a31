#include "train/report/checkpoint_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/message.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "base/text/units.hpp"

namespace ziggurat::train {

namespace {

/// A path that is shortened to fewer columns is of no use.
constexpr int min_path = 12;

}  // namespace

std::string checkpoint_line(const CheckpointReport& report, int columns) {
    if (report.is_ok) {
        const auto line = fmt::format("checkpoint of step {}: {} in {} ({:.3g} GB/s)", report.step,
                                      format_bytes(report.bytes), format_duration(report.seconds),
                                      report.gigabytes_per_second());
        const auto where = printable(report.where);
        if (columns == 0) {
            return line + ", " + where;
        }
        const int left = columns - text_width(line) - 2;
        return left < std::min(min_path, text_width(where)) ? line
                                                            : line + ", " + shortened_from_left(where, left);
    }
    const auto newest = report.newest_step < 0
                            ? std::string{"no complete checkpoint exists yet"}
                            : fmt::format("the newest complete one is of step {}", report.newest_step);
    return message(Severity::error,
                   fmt::format("checkpoint of step {} failed: {} Training continues; {} ({} {} in a row).",
                               report.step, report.where, newest, report.failures_in_a_row,
                               report.failures_in_a_row == 1 ? "failure" : "failures"));
}

}  // namespace ziggurat::train
