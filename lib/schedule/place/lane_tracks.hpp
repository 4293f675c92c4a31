/// Order in which the ops of a lane are done: each lane has tracks, and each track works in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Walk over the ops of some steps, with consecutive numbers.
///
/// A lane that works in order is one track. A lane that overlaps itself distributes its ops to
/// `max_in_flight` tracks in turn. Its op begins when the op `max_in_flight` positions before it (the
/// previous op of its track) and all ops before that one are done.
class LaneTracks {
  public:
    explicit LaneTracks(const Program& program) : program_{program}, on_lane_(program.lanes.size()) {
        for (const auto& lane : program.lanes) {
            first_of_lane_.push_back(count_);
            count_ += overlaps_itself(lane.engine) ? max_in_flight : 1;
        }
    }

    /// Returns the number of tracks of all lanes.
    std::size_t count() const noexcept { return count_; }

    /// Returns the track of an op that the walk has reached.
    std::size_t track_of(int i) const { return tracks_[i]; }

    /// Puts the next op of the walk on its track. Returns the last ops of their tracks that are done when
    /// this op begins, by the order of its lane alone. The result is valid until the next call.
    std::span<const int> next() {
        const auto i = static_cast<int>(tracks_.size());
        const auto num_ops = static_cast<int>(program_.ops.size());
        const std::size_t lane = program_.ops[i % num_ops].lane;
        auto& before = on_lane_[lane];
        const std::size_t positions = overlaps_itself(program_.lanes[lane].engine) ? max_in_flight : 1;
        tracks_.push_back(first_of_lane_[lane] + before.size() % positions);
        const auto end = before.size() < positions ? 0 : before.size() - positions + 1;
        const auto begin = end < positions ? 0 : end - positions;
        found_.assign(before.begin() + static_cast<std::ptrdiff_t>(begin),
                      before.begin() + static_cast<std::ptrdiff_t>(end));
        before.push_back(i);
        return found_;
    }

  private:
    const Program& program_;
    std::size_t count_ = 0;
    std::vector<std::size_t> first_of_lane_;
    std::vector<std::vector<int>> on_lane_;  ///< by lane: positions in the walk so far
    std::vector<std::size_t> tracks_;        ///< by position in the walk
    std::vector<int> found_;
};

}  // namespace ziggurat::schedule
