#include "storage/aio_queue.hpp"

#include <libaio.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/text/units.hpp"
#include "storage/io_error.hpp"

namespace ziggurat::storage {
namespace {

// The kernel takes about 10 ms to destroy a context.
constexpr int few_transfers = 8;
constexpr std::size_t few_bytes = std::size_t{1} << 20;

}  // namespace

struct AioQueue::Slot {
    iocb request{};
    DirectFile* file = nullptr;
    std::int64_t offset_bytes = 0;
    std::byte* into = nullptr;        // target of a read
    const std::byte* from = nullptr;  // source of a write
    std::size_t bytes = 0;
    std::int64_t needed_bytes = 0;
    std::uint64_t tag = 0;
};

struct AioQueue::Context {
    io_context_t handle = nullptr;
    int problem = 0;  ///< errno of io_setup()
    int granted = 0;  ///< concurrent transfers: `depth`, halved until the system grants the number

    explicit Context(int depth) : granted{depth} {
        while ((problem = -io_setup(granted, &handle)) == EAGAIN && granted > 1) {
            granted /= 2;
        }
        if (problem != 0) {
            handle = nullptr;
        }
    }
    ~Context() {
        if (handle != nullptr) {
            io_destroy(handle);  // waits until the kernel has completed all requests
        }
    }
};

AlignedBuffer::AlignedBuffer(std::int64_t bytes) : size_{round_up_to_page(bytes)} {
    if (size_ == 0) {
        return;
    }
    // The kernel pins every page of a transfer; with huge pages there are fewer.
    constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;
    const auto alignment = size_ >= huge_page_bytes ? huge_page_bytes : page_bytes;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(
        alignment, static_cast<std::size_t>((size_ + alignment - 1) / alignment * alignment))));
    if (data_ == nullptr) {
        throw Error{ErrorKind::resource,
                    "cannot have " + format_bytes(size_) +
                        " of memory for files (out of memory). Give the job more memory."};
    }
    if (alignment == huge_page_bytes) {
        ::madvise(data_.get(), size_, MADV_HUGEPAGE);  // optional: may fail
    }
}

void AlignedBuffer::Release::operator()(std::byte* data) const noexcept {
    std::free(data);
}

AioQueue::AioQueue(int depth, QueueUse use) : slots_(depth) {
    ZG_EXPECTS(depth > 0);
    done_.reserve(slots_.size());
    free_slots_.reserve(slots_.size());
    for (Slot& slot : slots_) {
        free_slots_.push_back(&slot);
    }
    if (use == QueueUse::many) {
        set_up();
    }
}

void AioQueue::set_up() {
    context_ = std::make_unique<Context>(static_cast<int>(slots_.size()));
    if (context_->problem == 0) {
        num_withheld_ = slots_.size() - static_cast<std::size_t>(context_->granted);
    }
}

bool AioQueue::is_idle() const noexcept {
    return free_slots_.size() == slots_.size();
}

int AioQueue::depth() const noexcept {
    return static_cast<int>(slots_.size() - num_withheld_);
}

std::string AioQueue::not_asynchronous_reason() const {
    if (context_ == nullptr || context_->problem == 0) {
        return {};
    }
    const std::string reason = std::strerror(context_->problem);
    return context_->problem == EAGAIN ? "the limit fs.aio-max-nr is exhausted" : reason;
}

AioQueue::~AioQueue() {
    if (context_ == nullptr || !is_idle()) {
        return;  // the destructor of the context waits for the transfers in flight
    }
    // Destroying a context takes tens of milliseconds, so another thread does it.
    const io_context_t handle = std::exchange(context_->handle, nullptr);
    if (handle == nullptr) {
        return;
    }
    try {
        std::thread{[handle] { io_destroy(handle); }}.detach();
    } catch (const std::system_error&) {
        io_destroy(handle);
    }
}

AioQueue::Slot& AioQueue::take_slot(DirectFile& file, std::int64_t offset_bytes, std::uint64_t tag) {
    ZG_EXPECTS(!is_full());
    Slot& slot = *free_slots_.back();
    free_slots_.pop_back();
    slot = Slot{};
    slot.file = &file;
    slot.offset_bytes = offset_bytes;
    slot.tag = tag;
    return slot;
}

void AioQueue::read(DirectFile& file,
                    std::int64_t offset_bytes,
                    std::span<std::byte> into,
                    std::int64_t needed_bytes,
                    std::uint64_t tag) {
    ZG_EXPECTS(needed_bytes <= std::ssize(into));
    if (const int fault = planned_read_fault(file.path(), offset_bytes, std::ssize(into))) {
        throw_io_error(describe_transfer("read", std::ssize(into), offset_bytes), file.path(), fault);
    }
    Slot& slot = take_slot(file, offset_bytes, tag);
    slot.into = into.data();
    slot.bytes = into.size();
    slot.needed_bytes = needed_bytes;
    io_prep_pread(&slot.request, file.descriptor(), into.data(), into.size(), offset_bytes);
    submit(slot);
}

void AioQueue::write(DirectFile& file,
                     std::int64_t offset_bytes,
                     std::span<const std::byte> from,
                     std::uint64_t tag) {
    if (const int fault = planned_fault(file.path(), offset_bytes, std::ssize(from))) {
        throw_io_error(describe_transfer("write", std::ssize(from), offset_bytes), file.path(), fault);
    }
    Slot& slot = take_slot(file, offset_bytes, tag);
    slot.from = from.data();
    slot.bytes = from.size();
    slot.needed_bytes = std::ssize(from);
    io_prep_pwrite(&slot.request, file.descriptor(), const_cast<std::byte*>(from.data()), from.size(),
                   offset_bytes);
    submit(slot);
}

bool AioQueue::is_worth_it(const Slot& slot) {
    ++num_started_;
    if (context_ == nullptr && (num_started_ > few_transfers || slot.bytes > few_bytes)) {
        set_up();
    }
    return context_ != nullptr && context_->handle != nullptr;
}

void AioQueue::submit(Slot& slot) {
    slot.request.data = &slot;
    iocb* request = &slot.request;
    int accepted = is_worth_it(slot) ? -EINTR : -ENOSYS;
    while (accepted == -EINTR) {
        accepted = io_submit(context_->handle, 1, &request);
    }
    if (accepted != 1) {
        // The system refuses this request. The synchronous transfer reports the reason if it also fails.
        finish(slot, 0);
        done_.push_back(&slot);
    }
}

void AioQueue::finish(Slot& slot, long moved) {
    DirectFile& file = *slot.file;
    const char* verb = slot.into != nullptr ? "read" : "write";
    if (moved < 0 && moved != -EINVAL && moved != -EAGAIN && moved != -EINTR) {
        throw_io_error(describe_transfer(verb, static_cast<std::int64_t>(slot.bytes), slot.offset_bytes),
                       file.path(), static_cast<int>(-moved));
    }
    std::int64_t done = std::max(moved, 0L);
    note_moved(done);
    if (done >= slot.needed_bytes) {
        return;
    }
    if (done % page_bytes != 0 || moved == -EINVAL) {
        file.stop_direct();
    }
    const std::size_t rest = done;
    if (slot.into != nullptr) {
        done += file.read(slot.offset_bytes + done, std::span{slot.into, slot.bytes}.subspan(rest));
        if (done < slot.needed_bytes) {
            throw Error{ErrorKind::resource,
                        "cannot " + describe_transfer("read", slot.needed_bytes, slot.offset_bytes) + " '" +
                            file.path() + "' (it ends after " + format_grouped(done) +
                            " of them). Check which program has truncated it."};
        }
    } else {
        file.write(slot.offset_bytes + done, std::span{slot.from, slot.bytes}.subspan(rest));
    }
}

std::uint64_t AioQueue::wait() {
    ZG_EXPECTS(!is_idle());
    Slot* slot = nullptr;
    if (!done_.empty()) {
        slot = done_.back();
        done_.pop_back();
    } else {
        io_event event{};
        int arrived = -EINTR;
        while (arrived == -EINTR) {
            arrived = io_getevents(context_->handle, 1, 1, &event, nullptr);
        }
        if (arrived != 1) {
            throw Error{ErrorKind::resource, std::string{"cannot wait for file transfers ("} +
                                                 std::strerror(arrived < 0 ? -arrived : EAGAIN) +
                                                 "). Check the kernel's log."};
        }
        slot = static_cast<Slot*>(event.data);
        finish(*slot, static_cast<long>(event.res));
    }
    free_slots_.push_back(slot);
    return slot->tag;
}

void AioQueue::drain() noexcept {
    context_.reset();
    done_.clear();
    free_slots_.clear();
    for (Slot& slot : slots_) {
        free_slots_.push_back(&slot);  // does not allocate: the capacity is reserved
    }
}

}  // namespace ziggurat::storage
