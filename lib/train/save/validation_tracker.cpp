#include "train/save/validation_tracker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "comm/control.hpp"
#include "train/report/reporter.hpp"

namespace ziggurat::train {
namespace {

/// Reads the record from rank 0's disk and broadcasts it to all ranks.
checkpoint::ValidationRecord record_of_first(const comm::Context& world, const std::string& root) {
    std::string text, reason;
    if (world.rank() == 0) {
        try {
            text = checkpoint::ValidationRecord::read(root).text();
        } catch (const Error& error) {
            reason = error.what();
        }
    }
    reason = comm::broadcast(world, reason);
    if (!reason.empty()) {
        throw Error{ErrorKind::checkpoint, reason};
    }
    return checkpoint::ValidationRecord::parse(comm::broadcast(world, text), root);
}

}  // namespace

ValidationTracker::ValidationTracker(const spec::RunSpec& spec,
                                     const comm::Context& world,
                                     std::uint64_t data,
                                     const std::string& root,
                                     std::optional<std::int64_t> resumed_step)
    : checkpoint_{spec.checkpoint},
      when_{spec.train.stop_when},
      data_{world.rank() == 0 ? data : 0},
      writes_{world.rank() == 0 && spec.checkpoint.every.has_value()} {
    comm::all_reduce_sum(world, {&data_, 1});
    if (resumed_step) {
        record_ = record_of_first(world, root);
        record_.forget_after(*resumed_step);
    }
}

void ValidationTracker::add(std::int64_t step, double loss, const std::string& root, Reporter& reporter) {
    record_.add(step, loss, data_);
    if (!writes_) {
        return;
    }
    try {
        std::error_code failure;
        std::filesystem::create_directories(root, failure);  // in case that no checkpoint was saved yet
        record_.write(root);
    } catch (const Error& error) {
        reporter.print_line(
            message(Severity::warning,
                    fmt::format("cannot write the record of validations ({}). A later job of this run may "
                                "choose other checkpoints as the best ones",
                                error.what())));
    }
}

bool ValidationTracker::is_best() const {
    const auto& all = record_.entries();
    return !all.empty() && std::isfinite(all.back().loss) &&
           std::ranges::all_of(all.begin(), all.end() - 1, [&](const auto& entry) {
               return !is_of_latest_data(entry) || !(entry.loss <= all.back().loss);
           });
}

std::string ValidationTracker::stop_reason() const {
    if (record_.entries().empty()) {
        return "";
    }
    const auto& latest = record_.entries().back();
    if (latest.data != 0 && latest.data != data_) {
        return "";  // the run continues with other validation data
    }
    if (when_.validation_loss && latest.loss <= *when_.validation_loss) {
        return fmt::format(
            "the validation loss of step {}, {:.4f}, is at most {} (train.stop_when.validation_loss)",
            latest.step, latest.loss, *when_.validation_loss);
    }
    return when_.patience > 0 ? no_timeout_reason() : "";
}

bool ValidationTracker::is_of_latest_data(const checkpoint::ValidationRecord::Entry& entry) const {
    return entry.data == record_.entries().back().data;
}

std::string ValidationTracker::no_timeout_reason() const {
    checkpoint::ValidationRecord::Entry best{.loss = std::numeric_limits<double>::infinity()};
    std::int64_t waited = 0;  // validations since the best one
    for (const auto& entry : record_.entries()) {
        if (!is_of_latest_data(entry)) {
            continue;
        }
        const bool is_better = entry.loss < best.loss - when_.min_delta;
        best = is_better ? entry : best;
        waited = is_better ? 0 : waited + 1;
    }
    if (waited < when_.patience) {
        return "";
    }
    const auto by = when_.min_delta > 0 ? fmt::format(" by more than {}", when_.min_delta) : "";
    return fmt::format(
        "{} validation{} in a row {} not lower than {:.4f}, that of step {}{} (train.stop_when.patience)",
        waited, waited == 1 ? "" : "s", waited == 1 ? "is" : "are", best.loss, best.step, by);
}

}  // namespace ziggurat::train
