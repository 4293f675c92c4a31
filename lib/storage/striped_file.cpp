#include "storage/striped_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/units.hpp"
#include "storage/directory.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::storage {
namespace {

/// Largest cell. A write of a part of a cell must read it first; the record of a cell takes 24 bytes.
constexpr std::int64_t max_cell_bytes = std::int64_t{256} << 10;

/// Returns the free bytes of each folder; `bytes` if the file system does not report its size.
std::vector<std::int64_t> room_in(const std::vector<std::string>& folders, std::int64_t bytes) {
    std::vector<std::int64_t> room;
    for (const auto& folder : folders) {
        room.push_back(has_limited_space(folder) ? free_bytes(folder) : bytes);
    }
    return room;
}

[[noreturn]] void refuse(const std::vector<std::string>& folders,
                         const std::vector<std::int64_t>& room,
                         std::int64_t bytes) {
    std::string free;
    for (std::size_t i = 0; i < folders.size(); ++i) {
        free += fmt::format("{}{} in '{}'", i == 0 ? "" : ", ", format_bytes(room[i]), folders[i]);
    }
    throw Error{
        ErrorKind::resource,
        fmt::format("cannot reserve {} on NVMe for this rank ({} are free). Free some space there, add "
                    "folders to tiers.nvme.paths, or place less state on nvme.",
                    format_bytes(bytes), free)};
}

/// Allocates the space.
///
/// Another rank may allocate space between the query of the free space and the allocation. Then less space is
/// used in that folder.
Stripes reserve(const std::vector<std::string>& folders,
                std::vector<DirectFile>& files,
                std::int64_t bytes,
                std::int64_t stripe_bytes) {
    std::vector<std::int64_t> max(folders.size(), bytes);
    for (;;) {
        auto room = room_in(folders, bytes);
        std::ranges::transform(room, max, room.begin(), [](auto a, auto b) { return std::min(a, b); });
        if (!Stripes::fits(bytes, room, stripe_bytes)) {
            refuse(folders, room, bytes);
        }
        Stripes stripes{bytes, room, stripe_bytes};
        std::size_t i = 0;
        try {
            for (; i < files.size(); ++i) {
                files[i].reserve(stripes.bytes_in(static_cast<int>(i)));
            }
            return stripes;
        } catch (const Error&) {
            const auto asked = stripes.bytes_in(static_cast<int>(i));
            const bool is_short = has_limited_space(folders[i]) && free_bytes(folders[i]) < 2 * asked;
            if (folders.size() == 1 || !is_short) {
                throw;
            }
            for (auto& file : files) {
                file.resize(0);
            }
            max[i] = asked / 2;
        }
    }
}

}  // namespace

StripedFile::StripedFile(const std::vector<std::string>& folders, std::int64_t bytes, Options options)
    : folders_{folders},
      bytes_{round_up_to_page(bytes)},
      written_{bytes_},
      window_{std::min(std::max(options.window_bytes, options.stripe_bytes), bytes_)} {
    const auto stripe = options.stripe_bytes;
    ZG_EXPECTS(!folders.empty() && stripe > 0 && stripe % page_bytes == 0);
    for (const auto& folder : folders) {
        to_write_.push_back(DirectFile::create_unnamed(folder));
        if (const auto reason = to_write_.back().not_direct_reason(); !reason.empty()) {
            not_direct_.push_back("'" + folder + "': " + reason);
        }
        to_read_.push_back(to_write_.back().open_again());
    }
    const bool is_alone = folders.size() == 1;
    stripes_ = reserve(folders, to_write_, bytes_, is_alone ? page_bytes : stripe);
    if (options.checked_between) {
        records_ = {bytes_, std::move(*options.checked_between), std::min(stripe, max_cell_bytes),
                    stripes_->stripe_bytes()};
    }
}

const std::string& StripedFile::folder_of(const DirectFile& file) const {
    for (const auto* files : {&to_read_, &to_write_}) {
        const auto at = std::ranges::find_if(*files, [&](const DirectFile& own) { return &own == &file; });
        if (at != files->end()) {
            return folders_.at(at - files->begin());
        }
    }
    ZG_EXPECTS(false);
    return folders_.front();
}

std::vector<FileSegment> StripedFile::segments(TransferKind kind,
                                               std::int64_t offset_bytes,
                                               std::byte* memory,
                                               std::int64_t bytes) {
    const auto end = offset_bytes + bytes;
    ZG_EXPECTS(offset_bytes >= 0 && end <= bytes_ && offset_bytes % page_bytes == 0 &&
               bytes % page_bytes == 0);
    if (records_.is_on() && bytes > 0) {
        ZG_EXPECTS(records_.begin_of(offset_bytes) == offset_bytes && records_.end_of(end - 1) == end);
    }
    auto& files = kind == TransferKind::read ? to_read_ : to_write_;
    std::vector<FileSegment> found;
    for (auto at = offset_bytes; at < end;) {
        const auto place = stripes_->at(at);
        const auto size = std::min(place.bytes, end - at);
        found.push_back({&files[place.file], place.offset_bytes, memory + (at - offset_bytes), size,
                         records_.is_on() ? &records_ : nullptr, at});
        at += size;
    }
    return found;
}

std::int64_t StripedFile::window_begin(std::int64_t offset_bytes) const {
    return records_.is_on() ? records_.begin_of(offset_bytes) : round_down_to_page(offset_bytes);
}

std::int64_t StripedFile::window_end(std::int64_t begin, std::int64_t end) const {
    const auto max = std::ssize(window_.bytes());
    if (!records_.is_on()) {
        return std::min(begin + max, round_up_to_page(end));
    }
    return std::min(records_.last_end(begin, max), records_.end_of(end - 1));
}

void StripedFile::read_window(std::int64_t offset_bytes, std::span<std::byte> into) {
    for (const auto& segment : segments(TransferKind::read, offset_bytes, into.data(), std::ssize(into))) {
        const std::span to{segment.memory, static_cast<std::size_t>(segment.bytes)};
        const auto arrived = segment.file->read(segment.offset_bytes, to);
        if (arrived < segment.bytes) {
            throw Error{ErrorKind::resource,
                        fmt::format("cannot {} '{}' (it ends after {} of them). Check which program has "
                                    "truncated it.",
                                    describe_transfer("read", segment.bytes, segment.offset_bytes),
                                    segment.file->path(), format_grouped(arrived))};
        }
        if (segment.records != nullptr) {
            segment.records->check(segment.first_of_records, to, segment.file->path(), segment.offset_bytes);
        }
    }
}

void StripedFile::write_window(std::int64_t offset_bytes, std::span<std::byte> from) {
    for (const auto& segment : segments(TransferKind::write, offset_bytes, from.data(), std::ssize(from))) {
        const std::span bytes{segment.memory, static_cast<std::size_t>(segment.bytes)};
        if (segment.records != nullptr) {
            segment.records->note_written(segment.first_of_records, bytes);
        }
        segment.file->write(segment.offset_bytes, bytes);
    }
}

void StripedFile::read(std::int64_t offset_bytes, std::span<std::byte> into) {
    const std::lock_guard lock{mutex_};
    const auto end = offset_bytes + std::ssize(into);
    for (auto at = offset_bytes; at < end;) {
        const auto begin = window_begin(at);
        const auto stop = window_end(begin, end);
        const auto window = window_.bytes().first(stop - begin);
        read_window(begin, window);
        const auto to = std::min(stop, end);
        std::memcpy(into.data() + (at - offset_bytes), window.data() + (at - begin),
                    static_cast<std::size_t>(to - at));
        at = to;
    }
}

void StripedFile::write(std::int64_t offset_bytes, std::span<const std::byte> from) {
    const std::lock_guard lock{mutex_};
    written_.note(offset_bytes, std::ssize(from));
    const auto end = offset_bytes + std::ssize(from);
    for (auto at = offset_bytes; at < end;) {
        const auto begin = window_begin(at);
        const auto stop = window_end(begin, end);
        const auto window = window_.bytes().first(stop - begin);
        const auto to = std::min(stop, end);
        if (at > begin || to < stop) {
            read_window(begin, window);  // keep the other bytes of the same pages or cells
        }
        std::memcpy(window.data() + (at - begin), from.data() + (at - offset_bytes),
                    static_cast<std::size_t>(to - at));
        write_window(begin, window);
        at = to;
    }
}

}  // namespace ziggurat::storage
