#include "train/console/retried_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::train {
namespace {

/// Writes `text`, and removes what was written from it. Returns 0, or the errno of a failed write.
int write_from(int file, std::string_view& text) noexcept {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

std::string count_of(std::int64_t records) {
    return fmt::format("{} record{}", format_grouped(records), records == 1 ? "" : "s");
}

}  // namespace

RetriedOutput::RetriedOutput(FileHandle file, std::string path)
    : file_{std::move(file)}, path_{std::move(path)} {}

void RetriedOutput::replace(FileHandle file, std::string path) {
    const std::scoped_lock lock{mutex_};
    held_.clear();
    num_lost_ += std::exchange(num_held_, 0);
    file_ = std::move(file);
    path_ = std::move(path);
}

int RetriedOutput::flush() {
    std::string_view left{held_};
    const int failure = write_from(file_.get(), left);
    held_.erase(0, held_.size() - left.size());
    num_held_ = failure == 0 ? 0 : num_held_;
    return failure;
}

std::optional<RetriedOutput::Message> RetriedOutput::write(std::string_view record) {
    const std::scoped_lock lock{mutex_};
    if (!file_) {
        return std::nullopt;
    }
    const bool has_failed = num_held_ > 0;
    if (has_failed && flush() != 0) {
        const bool has_room = held_.size() + record.size() <= max_held_bytes;
        held_ += has_room ? record : std::string_view{};
        (has_room ? num_held_ : num_lost_) += 1;
        num_late_ += has_room ? 1 : 0;
        return std::nullopt;
    }
    auto left = record;
    if (const int failure = write_from(file_.get(), left); failure != 0) {
        held_ = left;
        num_held_ = 1;
        ++num_late_;
        if (has_failed) {
            return std::nullopt;  // it has not recovered
        }
        return Message{Severity::warning,
                       fmt::format("cannot write '{}' ({}). Training continues; what cannot be written is "
                                   "kept, up to {}, and written later. {}",
                                   printable(path_), std::strerror(failure), format_bytes(max_held_bytes),
                                   storage::remedy_of(failure))};
    }
    if (!has_failed) {
        return std::nullopt;
    }
    const auto late = std::exchange(num_late_, 0);
    const auto lost = std::exchange(num_lost_, 0);
    return Message{Severity::note,
                   fmt::format("'{}' can be written again: {} came late{}", printable(path_), count_of(late),
                               lost > 0 ? ", " + count_of(lost) + " are lost" : "")};
}

bool RetriedOutput::write_last(std::string_view record) noexcept {
    try {
        // Another thread that ends the process may hold the lock in the middle of a record.
        const std::unique_lock lock{mutex_, std::try_to_lock};
        if (!lock.owns_lock()) {
            return write_all(file_.get(), record) == 0;
        }
        if (num_held_ > 0 && flush() != 0) {
            return false;
        }
        return write_all(file_.get(), record) == 0;
    } catch (...) {
        return false;
    }
}

std::optional<RetriedOutput::Message> RetriedOutput::rest() const {
    const auto missing = num_held_ + num_lost_;
    return missing == 0
               ? std::nullopt
               : std::optional{Message{Severity::warning, fmt::format("{} of '{}' could not be written.",
                                                                      count_of(missing), printable(path_))}};
}

}  // namespace ziggurat::train
