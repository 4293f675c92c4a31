#include "train/checkpoint_line.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace ziggurat::train {

std::string checkpoint_line(const CheckpointReport& report) {
    if (report.is_ok) {
        return fmt::format("checkpoint of step {}: {} in {} ({:.3g} GB/s), {}", report.step,
                           format_bytes(report.bytes), format_duration(report.seconds),
                           report.gigabytes_per_second(), report.where);
    }
    const auto newest = report.newest_step < 0 ? std::string{"there is no complete one yet"}
                                               : fmt::format("that of step {} stays", report.newest_step);
    return fmt::format("error: no checkpoint of step {}: {} Training goes on; {} ({} in a row {} failed).",
                       report.step, report.where, newest, report.failures_in_a_row,
                       report.failures_in_a_row == 1 ? "has" : "have");
}

}  // namespace ziggurat::train
