/// BenchRanks: the ranks that measure a machine at the same time, and the file with their results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/bench/machine_file.hpp"
#include "app/start/rank_processors.hpp"
#include "base/progress.hpp"
#include "comm/context.hpp"
#include "comm/node_topology.hpp"
#include "device/device.hpp"
#include "spec/machine_spec.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Ranks of a measurement, with the threads and the devices that a run of these ranks has.
///
/// All ranks call the same functions in the same order. Only rank 0 prints, shows progress and writes.
class BenchRanks {
  public:
    /// Reads the machine file, so that an unusable one fails before the measurement.
    ///
    /// \param machine_file  value of --machine-file; empty: the user's file
    /// Collective: over `world`
    /// Errors:     those of MachineFile; Error{resource} if a GPU cannot be used
    BenchRanks(const comm::Context& world, const std::string& machine_file);

    const comm::Context& world() const noexcept { return world_; }
    bool is_first() const noexcept { return world_.rank() == 0; }
    /// Returns a run of these ranks on the data axis: their threads, device and transport, without a model.
    const spec::RunSpec& launch() const noexcept { return launch_; }
    const comm::NodeTopology& nodes() const noexcept { return nodes_; }
    bool has_gpu() const noexcept { return launch_.tiers.device == spec::DeviceKind::cuda; }
    const device::RankDevices& devices() const noexcept { return processors_->all(); }

    /// Waits for all ranks, and shows the next measurement as the current activity.
    ///
    /// \param count  steps that advance() counts
    /// Collective: over world()
    void begin(const std::string& what, const std::string& unit, std::int64_t count);
    void advance() { progress_.advance(1); }
    /// Removes the progress line. Call it before print().
    void end() { progress_.end(); }

    /// Replaces each number by its maximum over the ranks: times become those of the slowest rank.
    ///
    /// Collective: over world()
    std::vector<double> slowest(std::vector<double> seconds) const;
    /// Prints on rank 0.
    void print(std::string_view text) const;

    /// Machine of the file with the figures measured so far; valid on rank 0.
    spec::MachineSpec& machine() noexcept { return machine_; }
    /// Writes the machine file on rank 0, with the number of ranks that have measured.
    void keep();

  private:
    comm::Context world_;
    comm::NodeTopology nodes_;
    std::optional<MachineFile> file_;  ///< on rank 0
    spec::MachineSpec machine_;
    int cores_of_node_ = 1;  ///< of rank 0's node that its ranks may use; valid on rank 0
    spec::RunSpec launch_;
    std::optional<RankProcessors> processors_;
    Progress progress_;
};

/// Runs `measure` on all started ranks, or on one without a launcher, then writes the machine file.
///
/// Returns the exit code of the command.
int measure_on_ranks(const std::string& machine_file, const std::function<void(BenchRanks&)>& measure);

}  // namespace ziggurat::app
