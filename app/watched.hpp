/// Planning that somebody watches.
#pragma once

#include <cstdint>

#include "base/progress.hpp"
#include "plan/watch.hpp"

namespace ziggurat::app {

/// A part of a plan that is watched: `plans: 1,234,567 operations, 3 s`.
class Watched {
  public:
    explicit Watched(Progress& progress) : progress_{progress} { progress.begin("plans", "operations"); }
    ~Watched() { progress_.end(); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    plan::Watch watch() const {
        return [this](std::size_t ops) { progress_.advance(static_cast<std::int64_t>(ops)); };
    }

  private:
    Progress& progress_;
};

}  // namespace ziggurat::app
