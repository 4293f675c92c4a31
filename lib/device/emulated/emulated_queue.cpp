#include "device/emulated/emulated_queue.hpp"

#include <cstring>
#include <utility>

#include "base/contract.hpp"
#include "base/quiet_thread.hpp"

namespace ziggurat::device {
namespace {

class EmulatedEventHandle final : public EventHandle {
  public:
    explicit EmulatedEventHandle(std::shared_ptr<EmulatedScheduler> work) : work_{std::move(work)} {}

    bool is_done() const override { return work_->is_done(*milestone_); }
    std::int64_t time_ns() const override { return work_->time_ns(*milestone_); }

    const std::shared_ptr<EmulatedScheduler>& work() const noexcept { return work_; }
    const std::shared_ptr<EmulatedEvent>& milestone() const noexcept { return milestone_; }

  private:
    std::shared_ptr<EmulatedScheduler> work_;
    std::shared_ptr<EmulatedEvent> milestone_ = std::make_shared<EmulatedEvent>();
};

bool overlap(const std::byte* a, const std::byte* b, std::int64_t bytes) {
    return a < b + bytes && b < a + bytes;
}

}  // namespace

EmulatedQueue::EmulatedQueue(std::shared_ptr<EmulatedScheduler> work,
                             std::shared_ptr<const EmulatedMemory> memory)
    : work_{std::move(work)}, memory_{std::move(memory)} {
    if (work_->has_threads()) {
        thread_ = start_quiet_thread("a stream of a delayed host", [this] { work_->run_line(line_); });
    }
    work_->add(line_);
}

EmulatedQueue::~EmulatedQueue() {
    work_->remove(line_);
    if (thread_.joinable()) {
        thread_.join();
    }
}

void EmulatedQueue::copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    auto* const reachable_to = memory_->side_of_copy(to, bytes);
    const auto* const reachable_from = memory_->side_of_copy(from, bytes);
    ZG_EXPECTS(!overlap(reachable_to, reachable_from, bytes));
    work_->push(line_, {.kind = StreamFifo::Piece::Kind::copy, .run = [reachable_to, reachable_from, bytes] {
                            std::memcpy(reachable_to, reachable_from, bytes);
                        }});
}

std::unique_ptr<EventHandle> EmulatedQueue::record_event() {
    return std::make_unique<EmulatedEventHandle>(work_);
}

void EmulatedQueue::record(EventHandle& mark) {
    auto& late = dynamic_cast<EmulatedEventHandle&>(mark);
    ZG_EXPECTS(late.work() == work_);
    work_->record(line_, late.milestone());
}

void EmulatedQueue::wait_for(const EventHandle& mark) {
    const auto& late = dynamic_cast<const EmulatedEventHandle&>(mark);
    ZG_EXPECTS(late.work() == work_);
    work_->wait_for(line_, late.milestone());
}

void EmulatedQueue::finish() {
    work_->finish(line_);
}

void EmulatedQueue::run(std::function<void()> work) {
    work_->push(line_, {.kind = StreamFifo::Piece::Kind::kernel, .run = std::move(work)});
}

std::byte* EmulatedQueue::reachable(const std::byte* address) const {
    return memory_->reachable(address);
}

}  // namespace ziggurat::device
