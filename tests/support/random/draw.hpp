/// Random choices, identical for the same seed on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace ziggurat::test {

class Draw {
  public:
    explicit Draw(std::uint64_t seed) : engine_{seed * 7919 + 17} {}

    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool chance(double probability) { return static_cast<double>(between(0, 999)) < 1000 * probability; }
    template <class T>
    T one_of(const std::vector<T>& values) {
        return values[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(values.size()) - 1))];
    }
    /// Returns a random divisor of `high` that is a multiple of `low`.
    int between_divisors(int low, int high) {
        std::vector<int> found;
        for (int d = low; d <= high; d += low) {
            if (high % d == 0) {
                found.push_back(d);
            }
        }
        return one_of(found);
    }
    std::mt19937_64& engine() { return engine_; }

  private:
    std::mt19937_64 engine_;
};

}  // namespace ziggurat::test
