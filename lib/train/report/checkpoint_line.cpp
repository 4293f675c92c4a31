#include "train/report/checkpoint_line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/printable.hpp"
#include "base/text_width.hpp"
#include "base/units.hpp"

namespace ziggurat::train {

namespace {

/// A path that is cut to less says nothing.
constexpr int least_path = 12;

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
        return left < std::min(least_path, text_width(where))
                   ? line
                   : line + ", " + shortened_from_left(where, left);
    }
    const auto newest = report.newest_step < 0 ? std::string{"there is no complete one yet"}
                                               : fmt::format("that of step {} stays", report.newest_step);
    return message(Severity::error,
                   fmt::format("no checkpoint of step {}: {} Training goes on; {} ({} in a row {} failed).",
                               report.step, report.where, newest, report.failures_in_a_row,
                               report.failures_in_a_row == 1 ? "has" : "have"));
}

}  // namespace ziggurat::train
