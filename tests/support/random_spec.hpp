/// Random runs: every key that shapes a step program, drawn from all that the rules allow.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// How often each value of each key was drawn.
class Coverage {
  public:
    void note(const std::string& key, const std::string& value) { ++counts_[key][value]; }
    void note(const spec::RunSpec& spec);
    /// One line per key.
    std::string report() const;
    const std::map<std::string, std::map<std::string, int>>& counts() const noexcept { return counts_; }

  private:
    std::map<std::string, std::map<std::string, int>> counts_;
};

/// What a draw may contain.
struct RandomSpecLimits {
    int most_ranks = 12;
    bool context = true;
    bool tiers = true;
    bool frozen = true;
    bool tiles = true;
    bool stages_differ = false;  ///< in recomputation and homes
    bool lora = false;           ///< adapters alone are trained, and nothing is in tiles
};

/// The same spec for the same seed.
spec::RunSpec random_spec(std::uint64_t seed, const RandomSpecLimits& limits = {});

/// What differs from the simplest run, in one line.
std::string described(const spec::RunSpec& spec);

}  // namespace ziggurat::test
