/// A node whose ranks are threads of this process: the protocol sees peer memory only as addresses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <thread>
#include <vector>

#include "comm/node/mailbox.hpp"

namespace ziggurat::test {

class ThreadRanks {
  public:
    ThreadRanks(int ranks, std::int64_t arena_bytes, std::uint32_t first_operation = 0)
        : first_operation_{first_operation},
          seats_(static_cast<std::size_t>(ranks)),
          bells_(static_cast<std::size_t>(ranks)),
          mailboxes_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks)) {
        std::vector<std::span<std::byte>> by_rank;
        for (int r = 0; r < ranks; ++r) {
            memory_.emplace_back(static_cast<std::size_t>(arena_bytes) + 64);
            auto& memory = memory_.back();
            const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
            by_rank.emplace_back(memory.data() + (64 - past) % 64, static_cast<std::size_t>(arena_bytes));
            auto& seat = seats_[static_cast<std::size_t>(r)];
            seat.posted.store(first_operation);
            seat.done.store(first_operation);
        }
        arena_ = by_rank;
        arenas_.add(std::move(by_rank));
    }

    int size() const { return static_cast<int>(seats_.size()); }
    std::span<std::byte> arena(int rank) const { return arena_[static_cast<std::size_t>(rank)]; }

    comm::GroupSlots seats_of(int rank) {
        comm::GroupSlots group;
        group.seats.me = rank;
        group.seats.arenas = &arenas_;
        group.seats.first_operation = first_operation_;
        for (int r = 0; r < size(); ++r) {
            group.seats.seats.push_back(&seats_[static_cast<std::size_t>(r)]);
            group.seats.bells.push_back(&bells_[static_cast<std::size_t>(r)]);
            group.seats.local_rank_of.push_back(r);
        }
        for (auto& mailbox : mailboxes_) {
            group.mailboxes.push_back(&mailbox);
        }
        return group;
    }

    /// Runs `as_rank` once per rank, all at the same time.
    void run(const std::function<void(int)>& as_rank) {
        std::vector<std::jthread> threads;
        for (int r = 0; r < size(); ++r) {
            threads.emplace_back([&as_rank, r] { as_rank(r); });
        }
    }

    /// Polls until `done`, and sleeps on the rank's bell between polls, without spinning. A lost wake-up
    /// ends the sleep after its (long) timeout, and is counted.
    template <class Done>
    void wait(int rank, const Done& done) {
        auto& bell = bells_[static_cast<std::size_t>(rank)];
        while (!done()) {
            const auto announced = comm::prepare_wait(bell);
            if (!done()) {
                constexpr std::int64_t a_minute = 60'000'000'000;
                if (comm::wait_for_notify(bell, announced, a_minute) == comm::WakeReason::by_time) {
                    ++num_lost_wakes;
                }
            }
            comm::cancel_wait(bell);
        }
    }

    std::atomic<int> num_lost_wakes{0};

  private:
    std::uint32_t first_operation_;
    std::vector<comm::MemberSlot> seats_;
    std::vector<comm::EventCount> bells_;
    std::vector<comm::Mailbox> mailboxes_;
    std::vector<std::vector<std::byte>> memory_;
    std::vector<std::span<std::byte>> arena_;
    comm::PeerArenas arenas_;
};

}  // namespace ziggurat::test
