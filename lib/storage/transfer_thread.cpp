#include "storage/transfer_thread.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/quiet_thread.hpp"
#include "storage/aio_queue.hpp"

namespace ziggurat::storage {
namespace {

/// Returns the queue tag of a block: its transfer and its index in the transfer.
std::uint64_t tag_of(int transfer, std::size_t block) {
    return static_cast<std::uint64_t>(transfer) << 32 | block;
}

/// Returns the size of the block at offset `at` of the segment: at most `max_bytes`, in whole cells.
std::int64_t block_at(const FileSegment& segment, std::int64_t at, std::int64_t max_bytes) {
    if (segment.records == nullptr) {
        return std::min(max_bytes, segment.bytes - at);
    }
    const auto begin = segment.first_of_records + at;
    return segment.records->last_end(begin, std::min(max_bytes, segment.bytes - at)) - begin;
}

}  // namespace

TransferThread::TransferThread(Options options) : options_{std::move(options)} {
    ZG_EXPECTS(options_.depth > 0 && options_.block_bytes >= page_bytes &&
               options_.block_bytes % page_bytes == 0);
    queue_ = std::make_unique<AioQueue>(options_.depth, AioQueue::QueueUse::many);
    thread_ = start_quiet_thread("a thread for transfers of files", [this] { run(); });
}

TransferThread::~TransferThread() {
    {
        const std::lock_guard lock{mutex_};
        ends_ = true;
    }
    report_.notify_one();
    thread_.join();
}

std::string TransferThread::not_asynchronous_reason() const {
    return queue_->not_asynchronous_reason();
}

int TransferThread::depth() const {
    return queue_->depth();
}

int TransferThread::add(TransferKind kind,
                        const std::vector<FileSegment>& segments,
                        TransferPriority priority,
                        std::function<void()> before,
                        std::function<void()> after) {
    auto made = std::make_unique<Transfer>();
    made->kind = kind;
    made->priority = priority;
    made->before = std::move(before);
    made->after = std::move(after);
    for (const auto& segment : segments) {
        made->bytes += segment.bytes;
        for (std::int64_t at = 0; at < segment.bytes;) {
            const auto size = block_at(segment, at, options_.block_bytes);
            made->blocks.push_back({{segment.file, segment.offset_bytes + at, segment.memory + at, size,
                                     segment.records, segment.first_of_records + at},
                                    file_of(segment)});
            at += size;
        }
    }
    const std::lock_guard lock{mutex_};
    transfers_.push_back(std::move(made));
    for (auto& started : started_) {
        started.ring.resize(transfers_.size());
    }
    return static_cast<int>(transfers_.size()) - 1;
}

TransferThread::File* TransferThread::file_of(const FileSegment& segment) {
    const auto known = std::ranges::find_if(
        files_, [&](const std::unique_ptr<File>& file) { return file->file == segment.file; });
    if (known != files_.end()) {
        return known->get();
    }
    files_.push_back(std::make_unique<File>());
    files_.back()->file = segment.file;
    return files_.back().get();
}

std::vector<FileUse> TransferThread::uses() const {
    std::vector<FileUse> found;
    for (const auto& file : files_) {
        found.push_back({file->file, file->blocks.load(), file->bytes.load(), file->busy_ns.load()});
    }
    return found;
}

void TransferThread::start(int transfer) {
    auto& starting = *transfers_.at(transfer);
    ZG_EXPECTS(starting.is_done.load());
    starting.is_done.store(false);
    {
        const std::lock_guard lock{mutex_};
        started_[starting.priority].put(transfer);
    }
    report_.notify_one();
}

bool TransferThread::is_done(int transfer) const {
    if (has_failed_.load(std::memory_order_acquire)) {
        std::rethrow_exception(failure_);
    }
    return transfers_.at(transfer)->is_done.load(std::memory_order_acquire);
}

void TransferThread::run() {
    try {
        move_all();
    } catch (...) {
        queue_->drain();
        failure_ = std::current_exception();
        has_failed_.store(true, std::memory_order_release);
        if (options_.when_done) {
            options_.when_done();
        }
    }
}

void TransferThread::Started::put(int transfer) {
    ring[(first + count) % ring.size()] = transfer;
    ++count;
}

int TransferThread::Started::next_result() {
    const int transfer = ring[first];
    first = (first + 1) % ring.size();
    --count;
    return transfer;
}

bool TransferThread::wait_for_start() {
    std::unique_lock lock{mutex_};
    const auto is_any = [this] {
        return std::ranges::any_of(started_, [](const Started& started) { return started.count > 0; });
    };
    report_.wait(lock, [&] { return ends_ || is_any(); });
    return is_any();
}

void TransferThread::begin_started() {
    for (std::size_t u = 0; u < num_priorities; ++u) {
        if (giving_[u].transfer >= 0) {
            continue;
        }
        int taken = -1;
        {
            const std::lock_guard lock{mutex_};
            taken = started_[u].count > 0 ? started_[u].next_result() : -1;
        }
        if (taken >= 0) {
            begin(taken);
            giving_[u] = {taken, 0};
        }
    }
}

bool TransferThread::submit_block() {
    for (auto& giving : giving_) {
        if (giving.transfer < 0) {
            continue;
        }
        const auto& blocks = transfers_[giving.transfer]->blocks;
        const bool has_block = giving.next_block < blocks.size();
        if (has_block) {
            submit(*queue_, giving.transfer, giving.next_block++);
        }
        if (giving.next_block == blocks.size()) {
            giving.transfer = -1;
        }
        if (has_block) {
            return true;
        }
    }
    return false;
}

void TransferThread::move_all() {
    while (true) {
        // If the queue is not full, the next transfer begins before the thread waits for blocks.
        begin_started();
        if (!queue_->is_full() && submit_block()) {
            continue;
        }
        if (!queue_->is_idle()) {
            end_block(queue_->wait());
        } else if (!wait_for_start()) {
            return;
        }
    }
}

void TransferThread::begin(int transfer) {
    auto& begun = *transfers_[transfer];
    begun.missing = begun.blocks.size();
    if (begun.before) {
        begun.before();
    }
    if (begun.blocks.empty()) {
        end(begun);
    }
}

void TransferThread::submit(AioQueue& queue, int transfer, std::size_t place) {
    auto& given = *transfers_[transfer];
    const auto& [block, file] = given.blocks[place];
    if (file->in_flight++ == 0) {
        file->busy_since_ns = monotonic_ns();
    }
    const std::span bytes{block.memory, static_cast<std::size_t>(block.bytes)};
    given.bytes_given.fetch_add(block.bytes, std::memory_order_relaxed);
    if (given.kind == TransferKind::read) {
        queue.read(*block.file, block.offset_bytes, bytes, block.bytes, tag_of(transfer, place));
        return;
    }
    if (block.records != nullptr) {
        block.records->note_written(block.first_of_records, bytes);
    }
    queue.write(*block.file, block.offset_bytes, bytes, tag_of(transfer, place));
}

void TransferThread::end_block(std::uint64_t tag) {
    auto& moved = *transfers_[tag >> 32];
    const auto& [block, file] = moved.blocks[tag & 0xffffffffu];
    file->blocks.fetch_add(1, std::memory_order_relaxed);
    file->bytes.fetch_add(block.bytes, std::memory_order_relaxed);
    const auto now_ns = monotonic_ns();
    file->busy_ns.fetch_add(now_ns - file->busy_since_ns, std::memory_order_relaxed);
    file->busy_since_ns = now_ns;
    --file->in_flight;
    if (moved.kind == TransferKind::read && block.records != nullptr) {
        block.records->check(block.first_of_records, {block.memory, static_cast<std::size_t>(block.bytes)},
                             block.file->path(), block.offset_bytes);
    }
    if (--moved.missing == 0) {
        end(moved);
    }
}

void TransferThread::end(Transfer& transfer) {
    if (transfer.after) {
        transfer.after();
    }
    transfer.ended_ns = monotonic_ns();
    transfer.is_done.store(true, std::memory_order_release);
    if (options_.when_done) {
        options_.when_done();
    }
}

}  // namespace ziggurat::storage
