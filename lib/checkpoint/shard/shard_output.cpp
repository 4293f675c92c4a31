#include "checkpoint/shard/shard_output.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "checkpoint/shard/shard_file.hpp"
#include "layout/staging/staging_sizes.hpp"

namespace ziggurat::checkpoint {
namespace {

constexpr std::uint64_t no_buffer = ~std::uint64_t{0};  // tag of transfers from the caller's memory

}  // namespace

struct StreamHash::State {
    XXH3_state_t* xxh3 = XXH3_createState();

    State() { XXH3_64bits_reset(xxh3); }
    ~State() { XXH3_freeState(xxh3); }
};

StreamHash::StreamHash() : state_{std::make_unique<State>()} {}
StreamHash::~StreamHash() = default;

void StreamHash::add(std::span<const std::byte> bytes) {
    if (!bytes.empty()) {
        XXH3_64bits_update(state_->xxh3, bytes.data(), bytes.size());
    }
}

void StreamHash::restart() {
    XXH3_64bits_reset(state_->xxh3);
}

std::uint64_t StreamHash::value() const {
    return XXH3_64bits_digest(state_->xxh3);
}

std::uint64_t hash_of_image(const storage::SparseImage& rest, std::vector<FileRange> ranges) {
    std::ranges::sort(ranges, {}, &FileRange::offset_bytes);
    ranges.push_back({rest.size_bytes(), 0});
    StreamHash hash;
    std::vector<std::byte> bytes;
    std::int64_t at = 0;
    for (const FileRange& range : ranges) {
        bytes.resize(range.offset_bytes - at);
        rest.read(at, bytes);
        hash.add(bytes);
        at = range.offset_bytes + range.bytes;
    }
    return hash.value();
}

ShardOutput::ShardOutput(storage::DirectFile file, std::int64_t bytes)
    : bytes_{bytes},
      num_buffers_{layout::writer_buffers(bytes).count},
      memory_{layout::writer_buffers(bytes).total()},
      file_{std::move(file)},
      queue_{static_cast<int>(num_buffers_)} {
    for (std::int64_t k = 0; k < num_buffers_; ++k) {
        free_buffers_.push_back(k);
    }
}

ShardOutput::ShardOutput(const std::string& path, std::int64_t bytes)
    : ShardOutput{storage::DirectFile::create(path), bytes} {
    file_.reserve(bytes);
}

std::unique_ptr<ShardOutput> ShardOutput::companion() const {
    return std::unique_ptr<ShardOutput>{new ShardOutput{file_.open_again(), bytes_}};
}

void ShardOutput::join(ShardOutput& other) {
    other.drain();
    written_.insert(written_.end(), other.written_.begin(), other.written_.end());
    std::ranges::move(other.kept_, std::back_inserter(kept_));
}

std::span<std::byte> ShardOutput::buffer(std::int64_t index) const {
    const std::size_t size = memory_.bytes().size() / static_cast<std::size_t>(num_buffers_);
    return memory_.bytes().subspan(static_cast<std::size_t>(index) * size, size);
}

std::int64_t ShardOutput::free_buffer() {
    while (queue_.is_full() || free_buffers_.empty()) {
        const std::uint64_t tag = queue_.wait();
        if (tag != no_buffer) {
            free_buffers_.push_back(static_cast<std::int64_t>(tag));
        }
    }
    const std::int64_t index = free_buffers_.back();
    free_buffers_.pop_back();
    return index;
}

std::uint64_t ShardOutput::write_block(std::int64_t offset_bytes, std::span<const std::byte> bytes) {
    ZG_EXPECTS(std::ssize(bytes) <= hash_block_bytes);
    const std::int64_t first = round_up_to_page(offset_bytes);
    const std::int64_t last = round_down_to_page(offset_bytes + std::ssize(bytes));
    if (last - first < layout::min_transfer_bytes) {
        keep(offset_bytes, bytes);
        return XXH3_64bits(bytes.data(), bytes.size());
    }
    const std::span<const std::byte> before = bytes.first(first - offset_bytes);
    const std::span<const std::byte> after = bytes.subspan(last - offset_bytes);
    const std::span<const std::byte> pages =
        bytes.subspan(before.size(), bytes.size() - before.size() - after.size());
    keep(offset_bytes, before);
    keep(last, after);
    const auto address = reinterpret_cast<std::uintptr_t>(pages.data());
    if (address % static_cast<std::uintptr_t>(page_bytes) == 0) {
        const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());  // also loads them into the cache
        written_.emplace_back(first / page_bytes, last / page_bytes);
        free_buffers_.push_back(free_buffer());
        queue_.write(file_, first, pages, no_buffer);
        return hash;
    }
    block_hash_.restart();
    block_hash_.add(before);
    for (std::size_t done = 0; done < pages.size();) {
        const auto part = pages.subspan(done, std::min(buffer(0).size(), pages.size() - done));
        block_hash_.add(part);
        write_copied(first + static_cast<std::int64_t>(done), part, {});
        done += part.size();
    }
    block_hash_.add(after);
    return block_hash_.value();
}

void ShardOutput::write_copied(std::int64_t offset_bytes,
                               std::span<const std::byte> begin,
                               std::span<const std::byte> end) {
    const auto size = begin.size() + end.size();
    ZG_EXPECTS(offset_bytes % page_bytes == 0 && static_cast<std::int64_t>(size) % page_bytes == 0);
    if (size == 0) {
        return;
    }
    written_.emplace_back(offset_bytes / page_bytes,
                          (offset_bytes + static_cast<std::int64_t>(size)) / page_bytes);
    for (std::size_t done = 0; done < size;) {
        const std::int64_t index = free_buffer();
        const std::span<std::byte> staged = buffer(index).first(std::min(buffer(index).size(), size - done));
        auto left = staged;
        for (auto* part : {&begin, &end}) {
            const auto some = part->first(std::min(part->size(), left.size()));
            std::ranges::copy(some, left.begin());
            left = left.subspan(some.size());
            *part = part->subspan(some.size());
        }
        queue_.write(file_, offset_bytes + static_cast<std::int64_t>(done), staged,
                     static_cast<std::uint64_t>(index));
        done += staged.size();
    }
}

void ShardOutput::keep(std::int64_t offset_bytes, std::span<const std::byte> bytes) {
    if (!bytes.empty()) {
        kept_.push_back({offset_bytes, {bytes.begin(), bytes.end()}});
    }
}

void ShardOutput::write_composed(std::int64_t first_page,
                                 std::int64_t last_page,
                                 const storage::SparseImage& rest) {
    const std::int64_t index = free_buffer();
    const std::int64_t begin = first_page * page_bytes;
    const std::int64_t end = last_page * page_bytes;
    const std::span<std::byte> staged = buffer(index).first(end - begin);
    rest.read(begin, staged);
    auto run = std::partition_point(kept_.begin(), kept_.end(),
                                    [&](const Kept& each) { return each.end() <= begin; });
    for (; run != kept_.end() && run->offset_bytes < end; ++run) {
        const std::int64_t from = std::max(begin, run->offset_bytes);
        const std::int64_t to = std::min(end, run->end());
        std::memcpy(staged.data() + (from - begin), run->bytes.data() + (from - run->offset_bytes),
                    static_cast<std::size_t>(to - from));
    }
    queue_.write(file_, begin, staged, static_cast<std::uint64_t>(index));
}

void ShardOutput::write_other_pages(const storage::SparseImage& rest) {
    std::ranges::sort(kept_, {}, &Kept::offset_bytes);
    std::sort(written_.begin(), written_.end());
    const std::int64_t pages = round_up_to_page(bytes_) / page_bytes;
    const std::int64_t max = std::ssize(buffer(0)) / page_bytes;
    written_.emplace_back(pages, pages);
    std::int64_t page = 0;
    for (const auto& [first, last] : written_) {
        while (page < first) {
            const std::int64_t next = std::min(first, page + max);
            write_composed(page, next, rest);
            page = next;
        }
        page = last;
    }
}

void ShardOutput::drain() {
    while (!queue_.is_idle()) {
        queue_.wait();
    }
}

void ShardOutput::finish() {
    drain();
    file_.resize(bytes_);
    file_.flush();
    if (!file_.has_name()) {
        throw Error{
            ErrorKind::resource,
            fmt::format("'{}' was removed while it was written. Check that no other process removes files of "
                        "a running training.",
                        file_.path())};
    }
}

}  // namespace ziggurat::checkpoint
