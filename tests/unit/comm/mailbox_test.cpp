#include "comm/node/mailbox.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace ziggurat::comm {
namespace {

constexpr std::uint64_t num_messages = 20'000;

struct Line {
    Mailbox box;
    EventCount sender;
    EventCount receiver;
    std::atomic<bool> is_over = false;
};

void send_all(Line& line) {
    for (std::uint64_t number = 0; number < num_messages && !line.is_over;) {
        bool has_sent = false;
        for (int i = 0; i < Mailbox::num_slots && !has_sent; ++i) {
            // Alternate between the lowest and the highest free slot: messages are often out of slot order.
            const int slot = number % 2 == 0 ? i : Mailbox::num_slots - 1 - i;
            if (is_taken(line.box, slot)) {
                leave_message(line.box, line.receiver, slot, {.tag = 5, .number = number++});
                has_sent = true;
            }
        }
        if (!has_sent) {
            std::this_thread::yield();
        }
    }
}

/// Returns the number of the first message out of order; num_messages if all are in order.
std::uint64_t receive_all(Line& line) {
    std::uint64_t num_looks = 0;
    for (std::uint64_t expected = 0; expected < num_messages;) {
        if (const auto found = find_message(line.box, 5)) {
            if (line.box.slots[static_cast<std::size_t>(*found)].message.number != expected) {
                line.is_over = true;
                return expected;
            }
            take_message(line.box, line.sender, *found);
            ++expected;
        } else if (++num_looks % 1000 == 0) {
            std::this_thread::yield();
        }
    }
    return num_messages;
}

TEST(Mailbox, MessagesOfATagAreFoundInTheOrderOfTheirSendsWhileMoreArrive) {
    // More threads than cores: a receiver is interrupted in a scan, and many messages arrive meanwhile.
    std::vector<std::unique_ptr<Line>> lines;
    std::vector<std::uint64_t> in_order(6);
    std::vector<std::thread> threads;
    for (auto& received : in_order) {
        lines.push_back(std::make_unique<Line>());
        threads.emplace_back([line = lines.back().get()] { send_all(*line); });
        threads.emplace_back([line = lines.back().get(), &received] { received = receive_all(*line); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    for (const auto received : in_order) {
        EXPECT_EQ(num_messages, received);
    }
    EXPECT_FALSE(find_message(lines[0]->box, 4));
}

}  // namespace
}  // namespace ziggurat::comm
