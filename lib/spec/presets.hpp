/// Published models by name.
#pragma once

#include <string_view>

#include "spec/run_spec.hpp"

namespace ziggurat::spec {

/// The shape of the published model `name`; none for a name that is not one of ours.
///
/// Source: gpt2-*: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, table 2, with
/// the sizes counted in the released weights. llama-8b, llama-70b: Grattafiori et al., "The Llama 3 Herd of
/// Models", 2024, table 3; llama-1b: the configuration of Llama 3.2 1B, whose positions are scaled beyond
/// 8192, which we leave out.
const Model* find_preset(std::string_view name);

}  // namespace ziggurat::spec
