/// The destructor of a queue, which waits for its work, reports that wait.
#include "device/watched_queue.hpp"

#include <gtest/gtest.h>

#include <string>

#include "device/stream.hpp"

namespace ziggurat::device {
namespace {

class Log final : public WaitObserver {
  public:
    void wait_begin(std::string_view what) noexcept override { text += "begins(" + std::string{what} + ") "; }
    void wait_end() noexcept override { text += "ends "; }
    std::string text;
};

class LoggingQueue final : public Queue {
  public:
    explicit LoggingQueue(Log& log) : log_{log} {}
    ~LoggingQueue() override { log_.text += "drains "; }
    LoggingQueue(const LoggingQueue&) = delete;
    LoggingQueue& operator=(const LoggingQueue&) = delete;

    void copy(std::byte*, const std::byte*, std::int64_t) override {}
    std::unique_ptr<EventHandle> record_event() override { return nullptr; }
    void record(EventHandle&) override {}
    void wait_for(const EventHandle&) override {}
    void finish() override {}

  private:
    Log& log_;
};

TEST(WatchedQueue, TellsOfTheWaitAtItsEnd) {
    Log log;
    {
        const Stream stream{MemorySpace::emulated_host, watched(std::make_shared<LoggingQueue>(log), &log), 1,
                            &log};
        const auto copy = stream;
        EXPECT_EQ(&copy.queue(), &stream.queue());
        EXPECT_EQ(log.text, "");
    }
    EXPECT_EQ(log.text, "begins(the work of its device) drains ends ");
}

TEST(WatchedQueue, IsTheQueueItselfWhereNobodyHears) {
    Log log;
    const auto queue = std::make_shared<LoggingQueue>(log);
    EXPECT_EQ(watched(queue, nullptr), queue);
}

}  // namespace
}  // namespace ziggurat::device
