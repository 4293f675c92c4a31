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

/// Number of tokens of each source, by its key in the deck such as `data.train[0].path`.
class SourceSizes {
  public:
    /// Reads a source and stores its number of tokens; for deck::LoadOptions::read_source.
    /// Errors: those of read_source()
    deck::SourceFacts read(const spec::Source& source, const std::string& key);

    void set(const std::string& key, std::int64_t tokens) { tokens_[key] = tokens; }

    /// Returns, for each source, the tokens that the run reads from it / its tokens that are not held out.
    Epochs epochs(const spec::RunSpec& run) const;

  private:
    std::map<std::string, std::int64_t> tokens_;
};

/// Returns `, 1.25 epochs`, or for several sources `, epochs of data.train 1.25, unknown and 3`.
///
/// Empty if the sizes of all sources are unknown.
std::string epochs_text(const Epochs& epochs);

}  // namespace ziggurat::app
