/// config.json of a model in the Hugging Face format.
#pragma once

#include <string>

#include "spec/dtype.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// Returns a text from which deck::read_published_config() restores the same keys of `model`.
///
/// \param type   of the exported weights
/// \param usage  more keys, as a JSON object: the result of usage_keys(). Null replaces special tokens
///               outside the vocabulary
/// Errors: Error{deck} if the class of transformers cannot have the model's windows or scale of scores
std::string config_text(const spec::Model& model, spec::DType type, const std::string& usage = "{}");

}  // namespace ziggurat::checkpoint::hf
