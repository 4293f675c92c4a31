/// Order of samples that a list gives.
#pragma once

#include <utility>
#include <vector>

#include "data/order/sample_order.hpp"

namespace ziggurat::data {

/// Sample i is the i-th window of a list.
class ListedOrder final : public SampleOrder {
  public:
    explicit ListedOrder(std::vector<Window> windows) : windows_{std::move(windows)} {}

    std::int64_t num_samples() const override { return std::ssize(windows_); }
    Window window(std::int64_t sample) const override { return windows_.at(sample); }

  private:
    std::vector<Window> windows_;
};

}  // namespace ziggurat::data
