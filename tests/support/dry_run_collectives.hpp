/// Collectives of an imaginary group: any size, no data moves, bytes are counted.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/contract.hpp"
#include "comm/collectives.hpp"

namespace ziggurat::test {

/// Returns the bytes that member `rank` of `size` sends to others in one execution of `call`.
inline std::int64_t bytes_to_send(const comm::CollectiveCall& call, int size, int rank) {
    using comm::CollectiveKind;
    std::int64_t all = 0;
    for (const auto& block : call.blocks) {
        all += block.bytes;
    }
    const std::int64_t own = call.blocks.size() > 1 ? call.blocks[static_cast<std::size_t>(rank)].bytes : all;
    switch (call.kind) {
        case CollectiveKind::all_gather:
            return own * (size - 1);
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_to_all:
            return all - own;
        case CollectiveKind::all_reduce:
            return all - own + own * (size - 1);
        case CollectiveKind::broadcast:
            return rank == call.peer ? all * (size - 1) : 0;
        case CollectiveKind::send:
            return all;
        case CollectiveKind::receive:
            return 0;
    }
    return 0;
}

/// Collectives of one process in the role of member `rank` of `size`. Every call is complete when
/// started.
class DryRunCollectives final : public comm::Collectives {
  public:
    DryRunCollectives(int size, int rank) : size_{size}, rank_{rank} {
        ZG_EXPECTS(size >= 1 && rank >= 0 && rank < size);
    }

    int prepare(comm::CollectiveCall call) override {
        check_call(call, size_, rank_);
        bytes_of_call_.push_back(bytes_to_send(call, size_, rank_));
        bytes_moved_.push_back(0);
        return static_cast<int>(bytes_of_call_.size()) - 1;
    }
    void start(int call) override {
        bytes_moved_.at(static_cast<std::size_t>(call)) += bytes_of_call_.at(static_cast<std::size_t>(call));
    }
    bool poll(int call) override {
        ZG_EXPECTS(call >= 0 && static_cast<std::size_t>(call) < bytes_of_call_.size());
        return true;
    }
    std::int64_t bytes_moved(int call) const override {
        return bytes_moved_.at(static_cast<std::size_t>(call));
    }
    int size() const override { return size_; }
    int rank() const override { return rank_; }

  private:
    int size_;
    int rank_;
    std::vector<std::int64_t> bytes_of_call_;
    std::vector<std::int64_t> bytes_moved_;
};

}  // namespace ziggurat::test
