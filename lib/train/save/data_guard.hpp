/// Guard that all ranks train on the same bytes, from the first step to the last.
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
#include "data/tokenizer/text_tokenizer.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::train {

class Reporter;

/// The data of the run, on every rank.
///
/// \param open  opens each source
/// Collective: over `world`
/// Errors:     on all ranks alike: Error{deck} of the first rank that cannot read it
data::Corpus open_corpus(const spec::RunSpec& spec,
                         const comm::Context& world,
                         const data::OpenSource& open = data::open_source);

/// The tokenizer of validate.sample; null without one. Collective and errors: as of open_corpus().
std::unique_ptr<const data::TextTokenizer> open_tokenizer_of_samples(const spec::RunSpec& spec,
                                                                     const comm::Context& world);

/// Data files as one node reads them.
struct DataOfNode {
    int first_rank = 0;
    std::string host;
    std::vector<data::FileFingerprint> files;
};

/// Names the files that nodes have otherwise than the first, and these nodes, as the message of an error;
/// empty when there are none.
std::string describe_different_data(const std::vector<DataOfNode>& nodes);

/// Compares the nodes' data at the start, by the fingerprints that one rank of each makes, and watches the
/// files from then on.
class DataGuard {
  public:
    /// \param corpus    outlives this
    /// \param reporter  outlives this; told what rank 0 warns of
    /// Collective: over `world`
    /// Errors:     Error{deck} on all ranks alike, which names files and nodes that differ
    DataGuard(const data::Corpus& corpus,
              const comm::NodeTopology& nodes,
              const comm::Context& world,
              Reporter& reporter);

    /// On the first rank of each node; empty elsewhere.
    const std::vector<data::FileFingerprint>& files() const noexcept { return files_; }

    /// Before a save: what was trained on must be what the files hold. Collective: local
    /// Errors: Error{resource} that names a file whose bytes have changed
    void look();
    /// The same between steps, every now and then: where looking takes long, less often. Collective: local
    void look_at_times();

  private:
    std::vector<data::FileFingerprint> files_;
    std::optional<data::FileWatch> watch_;  ///< on the first rank of each node
    Reporter& reporter_;
    bool is_reporting_;  ///< this rank's reporter is heard
    std::int64_t next_look_ns_ = 0;
};

}  // namespace ziggurat::train
