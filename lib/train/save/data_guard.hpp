/// Check that all ranks train on the same bytes, from the first step to the last.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/context.hpp"
#include "comm/node_topology.hpp"
#include "data/corpus.hpp"
#include "data/file_watch.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

class Reporter;

/// Opens the data of the run on every rank.
///
/// \param open  opens each source
/// Collective: over `world`
/// Errors:     on all ranks: the Error{deck} of the first rank that cannot read the data; Stopped, if any rank
///             was stopped
data::Corpus open_corpus(const spec::RunSpec& spec,
                         const comm::Context& world,
                         const data::OpenSource& open = data::open_source,
                         const StopCheck& stop = {});

/// Data files as one node reads them.
struct DataOfNode {
    int first_rank = 0;
    std::string host;
    std::vector<data::FileFingerprint> files;
};

/// Returns an error message that names files which differ from those of the first node, with the nodes.
///
/// It is empty if no file differs.
std::string describe_different_data(const std::vector<DataOfNode>& nodes);

/// Guard of the data files: compares the nodes at the start, then monitors the files for changes.
///
/// One rank of each node computes the fingerprints of the files.
class DataGuard {
  public:
    /// \param corpus    outlives this object
    /// \param reporter  outlives this object; prints the warnings of rank 0
    /// Collective: over `world`
    /// Errors:     Error{deck} on all ranks; it names the files and nodes that differ; Stopped on all ranks
    DataGuard(const data::Corpus& corpus,
              const comm::NodeTopology& nodes,
              const comm::Context& world,
              Reporter& reporter,
              const StopCheck& stop = {});

    /// Returns the fingerprints on the first rank of each node; empty on other ranks.
    const std::vector<data::FileFingerprint>& files() const noexcept { return files_; }

    /// Checks before a save that the files still have the bytes of training. Collective: local
    /// Errors: Error{resource} that names a file whose bytes have changed
    void check_now();
    /// Calls check_now() from time to time between steps; less often if the check is slow. Collective: local
    void look_at_times();

  private:
    std::vector<data::FileFingerprint> files_;
    std::optional<data::FileWatch> watch_;  ///< on the first rank of each node
    Reporter& reporter_;
    bool is_reporting_;  ///< this rank's reporter prints (rank 0)
    std::int64_t next_look_ns_ = 0;
};

}  // namespace ziggurat::train
