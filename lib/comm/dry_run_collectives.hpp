/// Collectives of a group that is not there: any size, nothing moves, bytes are counted.
#pragma once

#include <vector>

#include "comm/collectives.hpp"

namespace ziggurat::comm {

/// One process pretends to be member `rank` of `size`; every call is complete when started.
class DryRunCollectives final : public Collectives {
  public:
    DryRunCollectives(int size, int rank);

    int prepare(CollectiveCall call) override;
    void start(int call) override;
    bool poll(int call) override;
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

}  // namespace ziggurat::comm
