#include "storage/striped_file.hpp"

#include <algorithm>
#include <cstring>

#include "base/contract.hpp"

namespace ziggurat::storage {
namespace {

constexpr std::int64_t window_bytes = std::int64_t{4} << 20;

}  // namespace

StripedFile::StripedFile(const std::vector<std::string>& folders,
                         std::int64_t bytes,
                         std::int64_t stripe_bytes)
    : bytes_{round_up_to_page(bytes)}, stripe_bytes_{stripe_bytes}, pages_{std::min(window_bytes, bytes_)} {
    ZG_EXPECTS(!folders.empty() && stripe_bytes > 0 && stripe_bytes % page_bytes == 0);
    const auto num_files = std::ssize(folders);
    const auto stripes = (bytes_ + stripe_bytes - 1) / stripe_bytes;
    const auto of_each = (stripes + num_files - 1) / num_files * stripe_bytes;
    for (const auto& folder : folders) {
        to_write_.push_back(DirectFile::create_unnamed(folder));
        to_write_.back().reserve(of_each);
        to_read_.push_back(to_write_.back().open_again());
    }
}

std::vector<Segment> StripedFile::segments(TransferKind kind,
                                           std::int64_t offset_bytes,
                                           std::byte* memory,
                                           std::int64_t bytes) {
    ZG_EXPECTS(offset_bytes >= 0 && offset_bytes + bytes <= bytes_ && offset_bytes % page_bytes == 0 &&
               bytes % page_bytes == 0);
    auto& files = kind == TransferKind::read ? to_read_ : to_write_;
    const auto num_files = std::ssize(files);
    std::vector<Segment> found;
    for (std::int64_t done = 0; done < bytes;) {
        const auto at = offset_bytes + done;
        const auto stripe = at / stripe_bytes_;
        const auto size = std::min(bytes - done, (stripe + 1) * stripe_bytes_ - at);
        auto& file = files[static_cast<std::size_t>(stripe % num_files)];
        const auto in_file = stripe / num_files * stripe_bytes_ + at % stripe_bytes_;
        const bool goes_on = num_files == 1 && !found.empty();
        if (goes_on) {
            found.back().bytes += size;
        } else {
            found.push_back({&file, in_file, memory + done, size});
        }
        done += size;
    }
    return found;
}

void StripedFile::read_pages(std::int64_t offset_bytes, std::span<std::byte> into) {
    for (const auto& segment : segments(TransferKind::read, offset_bytes, into.data(), std::ssize(into))) {
        const std::span to{segment.memory, static_cast<std::size_t>(segment.bytes)};
        const auto arrived = segment.file->read(segment.offset_bytes, to);
        // What lies behind the end was never written.
        std::memset(to.data() + arrived, 0, to.size() - static_cast<std::size_t>(arrived));
    }
}

void StripedFile::write_pages(std::int64_t offset_bytes, std::span<std::byte> from) {
    for (const auto& segment : segments(TransferKind::write, offset_bytes, from.data(), std::ssize(from))) {
        segment.file->write(segment.offset_bytes, {segment.memory, static_cast<std::size_t>(segment.bytes)});
    }
}

void StripedFile::read(std::int64_t offset_bytes, std::span<std::byte> into) {
    const std::lock_guard lock{mutex_};
    const auto end = offset_bytes + std::ssize(into);
    for (auto at = round_down_to_page(offset_bytes); at < end; at += window_bytes) {
        const auto window = pages_.bytes().first(
            static_cast<std::size_t>(std::min(window_bytes, round_up_to_page(end) - at)));
        read_pages(at, window);
        const auto from = std::max(at, offset_bytes);
        const auto to = std::min(at + std::ssize(window), end);
        std::memcpy(into.data() + (from - offset_bytes), window.data() + (from - at),
                    static_cast<std::size_t>(to - from));
    }
}

void StripedFile::write(std::int64_t offset_bytes, std::span<const std::byte> from) {
    const std::lock_guard lock{mutex_};
    const auto end = offset_bytes + std::ssize(from);
    for (auto at = round_down_to_page(offset_bytes); at < end; at += window_bytes) {
        const auto window = pages_.bytes().first(
            static_cast<std::size_t>(std::min(window_bytes, round_up_to_page(end) - at)));
        const auto begin = std::max(at, offset_bytes);
        const auto stop = std::min(at + std::ssize(window), end);
        // What shares a page with these bytes stays.
        const auto page = static_cast<std::size_t>(page_bytes);
        if (begin > at) {
            read_pages(at, window.first(page));
        }
        if (stop < at + std::ssize(window)) {
            read_pages(at + std::ssize(window) - page_bytes, window.last(page));
        }
        std::memcpy(window.data() + (begin - at), from.data() + (begin - offset_bytes),
                    static_cast<std::size_t>(stop - begin));
        write_pages(at, window);
    }
}

}  // namespace ziggurat::storage
