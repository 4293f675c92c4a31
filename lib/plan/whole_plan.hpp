/// Decisions between plans of whole and of reduced runs.
///
/// Only plan_run.cpp includes this file.
#pragma once

#include <cstdint>

#include "plan/plan_run.hpp"

namespace ziggurat::plan {

/// True if a program is built for each stage and is large, so that a search must use small ones.
bool is_large_pipeline(const spec::RunSpec& spec);

/// True for runs whose plan is reduced in layers or stages only, and that are small enough to build.
bool is_worth_planning_whole(const spec::RunSpec& spec);

/// Adds to every rank the difference between the fullest rank's whole program and its reduced one.
void add_to_all(RunPlan& plan, const TierBytes& more, std::int64_t ranks_of_node);

}  // namespace ziggurat::plan
