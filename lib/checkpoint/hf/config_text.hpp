/// config.json of a model of ours in the Hugging Face format.
#pragma once

#include <string>

#include "spec/dtype.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::checkpoint::hf {

/// What deck::read_published_config() reads back to the same keys of `model`.
///
/// \param type   of the weights beside it
/// \param usage  more keys, as a JSON object: those of usage_keys()
std::string config_text(const spec::Model& model, spec::DType type, const std::string& usage = "{}");

}  // namespace ziggurat::checkpoint::hf
