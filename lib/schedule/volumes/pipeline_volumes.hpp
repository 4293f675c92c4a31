/// Bytes that a rank sends for its pipeline, in closed form.
#pragma once

#include <cstdint>

#include "schedule/model_layout.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::schedule {

/// Returns the bytes of one step.
///
/// With M micro-batches and an activation of b bytes at a boundary between virtual stages:
///
///     sent       M b for each chunk that has a chunk after it, and M b for each chunk that has one before it
///                with a trained tensor in or below it. Without sequence parallelism, each of t tensor ranks
///                sends its slice of b, about b/t.
///     gathered   without sequence parallelism: M b(1 - 1/t) for each activation or gradient received
///
/// Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", 2021, sections
/// 3.2 and 4.1.
std::int64_t pipeline_bytes_by_formula(const spec::RunSpec& spec, const ModelLayout& model);

}  // namespace ziggurat::schedule
