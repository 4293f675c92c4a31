/// Number of times that a training reads its data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "deck/load_options.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Epochs of each source of data.train; empty for a source of unknown size.
using Epochs = std::vector<std::optional<double>>;

/// Arrangement of the samples of sources, by `data.train[0]`.
using PackedSources = std::map<std::string, deck::SourceFacts::Packed>;

/// Targets of sources in which not all tokens count, by `data.train[0]` or `data.validation[0]`.
using SourceTargets = std::map<std::string, deck::SourceFacts::Targets>;

/// Returns a line about each source.
std::string packing_lines(const PackedSources& packed, std::int64_t seq);

/// Returns a line about each source of which not all tokens count in the loss.
std::string target_lines(const SourceTargets& targets);

/// Facts of each source, by its key in the deck such as `data.train[0].path`.
class SourceSizes {
  public:
    /// Reads a source and stores its facts; for deck::LoadOptions::read_source.
    /// Errors: those of read_source()
    deck::SourceFacts read(const spec::RunSpec& run, const spec::Source& source, const std::string& key);

    /// Sets the facts of a source.
    void set(const std::string& key, deck::SourceFacts facts) { facts_[key] = std::move(facts); }

    /// Returns, for each source, the tokens that the run reads from it / its tokens that are not held out.
    Epochs epochs(const spec::RunSpec& run) const;

    /// Returns the arrangement of each source of data.train whose samples are packed, by `data.train[0]`.
    PackedSources packed() const;

    /// Returns `31.5 samples and 4,321 tokens that count`: means of a step over the sources with samples.
    ///
    /// Empty if no source has samples.
    std::string step_means(const spec::RunSpec& run) const;

    /// Returns the numbers of targets of each source with samples of conversations or pairs.
    SourceTargets targets() const;

  private:
    std::map<std::string, deck::SourceFacts> facts_;
};

/// Returns the lines of a training about its samples of conversations; empty without any.
std::string sample_lines(const SourceSizes& sizes, const spec::RunSpec& run);

/// Returns `, 1.25 epochs`, or for several sources `, epochs of data.train 1.25, unknown and 3`.
///
/// Empty if the sizes of all sources are unknown.
std::string epochs_text(const Epochs& epochs);

}  // namespace ziggurat::app
