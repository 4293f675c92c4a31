/// Decks of imported models with the usual values of a job: `ziggurat import --for`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/stop_check.hpp"

namespace ziggurat::app {

/// Parts of a deck that follow from the imported model.
struct ImportedParts {
    std::string folder;  ///< of the imported checkpoint
    std::string name;    ///< value of run.name, in YAML
    /// Returns the value of `model`, in YAML, for a value of model.init.
    std::function<std::string(const std::string& init)> model;
    std::string tokenizer;  ///< value of data.tokenizer, in YAML
    std::int64_t max_seq = 0;
};

struct WrittenDeck {
    std::string text;
    std::string summary;                     ///< one line: epochs, steps and the learning rate
    std::vector<std::string> warnings = {};  ///< about the data
};

/// Returns a deck that trains the imported checkpoint for a job.
///
/// The length of the training, its batch and its validation follow from the size of the data, whose records
/// are encoded and kept for the training. Without data they are common values.
///
/// \param job   keyword of usual_values_of()
/// \param data  records, samples, or a token file; empty: not known yet
/// \param stop  called at least once a second
/// Errors: Error{deck} if the data cannot be read or does not suit the job
WrittenDeck job_deck(const ImportedParts& parts,
                     const std::string& job,
                     const std::string& data,
                     const StopCheck& stop);

}  // namespace ziggurat::app
