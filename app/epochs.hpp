/// Epochs: how many times a training goes through its data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "deck/load_options.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Of each source of data.train; nothing where its size is not known.
using Epochs = std::vector<std::optional<double>>;

/// Tokens of sources by their place in the deck, as `data.train[0].path`.
class SourceSizes {
  public:
    /// For deck::LoadOptions::read_source: remembers how many there are.
    /// Errors: those of read_source()
    deck::SourceFacts read(const spec::Source& source, const std::string& key);

    void set(const std::string& key, std::int64_t tokens) { tokens_[key] = tokens; }

    /// Tokens that the run takes from a source by its weight / those of it that are not held out.
    Epochs epochs(const spec::RunSpec& run) const;

  private:
    std::map<std::string, std::int64_t> tokens_;
};

/// `, 1.25 epochs`, of several sources `, epochs of data.train 1.25, unknown and 3`; empty where nothing is
/// known.
std::string epochs_text(const Epochs& epochs);

}  // namespace ziggurat::app
