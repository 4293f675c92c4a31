/// The ops of one rank as the simulation needs them: by lane, with successors and shared resources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/cost/rates.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::plan {

/// Resources that several lanes of a rank share; one op at a time uses them.
///
/// All reads share the disks, and so do all writes; both share them together if Rates::has_shared_disks is
/// set.
enum Shared : std::size_t { processor, disks, disks_for_writing };
inline constexpr std::size_t num_shared = 3;

class RankLanes {
  public:
    /// Earliest begin of the last op of a layer pass: `seconds` after the begin of its first op.
    struct Hold {
        int first = -1;  ///< -1: none
        double seconds = 0;
    };

    RankLanes(const schedule::Program& program, std::vector<double> seconds, const Rates& rates);

    std::size_t num_ops() const noexcept { return program_->ops.size(); }
    std::size_t num_lanes() const noexcept { return ops_of_lane_.size(); }
    /// Returns the number of ops that end a step: those of compute lanes, and step ends.
    int num_step_ops() const noexcept { return num_step_ops_; }
    bool bounds_step(int op) const { return bounds_step_[index(op)]; }

    /// True for the ops that the host launches on the device's compute stream.
    bool is_launched(int op) const { return is_compute_lane_[lane_of(op)]; }

    std::size_t lane_of(int op) const { return lane_of_op_[index(op)]; }
    const std::vector<int>& ops_of(std::size_t lane) const { return ops_of_lane_[lane]; }
    bool serves_updates(std::size_t lane) const { return serves_updates_[lane]; }
    /// Returns the number of positions of a lane that may be in flight at the same time.
    std::int64_t window(std::size_t lane) const { return windows_[lane]; }

    double seconds(int op) const { return seconds_[index(op)]; }
    const Hold& hold(int op) const { return holds_[index(op)]; }
    std::optional<Shared> shared(int op) const { return shared_of_lane_[lane_of(op)]; }

    /// Returns a lower bound of a step's time in the steady state: the work of the busiest resource or lane
    /// that runs one op at a time.
    double busy_seconds() const;

    /// Returns the number of ops that an op waits for; those of the previous step count if there is one.
    int num_waits(int op, bool has_previous_step) const;
    std::span<const int> next_in_step(int op) const { return next_in_step_.of(index(op)); }
    std::span<const int> next_in_next_step(int op) const { return next_in_next_step_.of(index(op)); }

  private:
    /// Ops that wait for each op, in one array.
    struct Successors {
        std::vector<std::size_t> begins;
        std::vector<int> ops;

        std::span<const int> of(std::size_t op) const {
            return {ops.data() + begins[op], begins[op + 1] - begins[op]};
        }
    };

    static std::size_t index(int op) { return static_cast<std::size_t>(op); }
    static Successors invert(const schedule::Program& program,
                             std::vector<schedule::OpId> schedule::Op::*waits);
    void hold_layers(double layer_forward);

    const schedule::Program* program_;
    std::vector<double> seconds_;  ///< by op, as the vectors below
    std::vector<std::size_t> lane_of_op_;
    std::vector<bool> bounds_step_;
    std::vector<Hold> holds_;
    Successors next_in_step_;
    Successors next_in_next_step_;
    std::vector<std::vector<int>> ops_of_lane_;  ///< by lane, as the vectors below
    std::vector<std::int64_t> windows_;
    std::vector<bool> serves_updates_;
    std::vector<bool> is_compute_lane_;
    std::vector<std::optional<Shared>> shared_of_lane_;
    int num_step_ops_ = 0;
};

}  // namespace ziggurat::plan
