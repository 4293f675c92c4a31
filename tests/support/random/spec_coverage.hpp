/// Values of random runs: how often each was drawn.
#pragma once

#include <map>
#include <string>

#include "spec/run_spec.hpp"

namespace ziggurat::test {

/// Number of draws of each value of each key.
class Coverage {
  public:
    void note(const std::string& key, const std::string& value) { ++counts_[key][value]; }
    void note(const spec::RunSpec& spec);
    /// Returns one line per key.
    std::string report() const;
    const std::map<std::string, std::map<std::string, int>>& counts() const noexcept { return counts_; }

  private:
    std::map<std::string, std::map<std::string, int>> counts_;
};

/// Describes the differences from the simplest run in one line.
std::string described(const spec::RunSpec& spec);

}  // namespace ziggurat::test
