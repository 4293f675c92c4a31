/// The data that `ziggurat eval` measures the loss on: those of the command line, or those that the run
/// validates on.
#pragma once

#include <cstdint>
#include <string>

#include "app/cli.hpp"
#include "app/trained_model.hpp"
#include "comm/context.hpp"
#include "data/batch_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// The tokenizer to evaluate with, the same on all ranks. That of a run may be elsewhere by now: tokens are
/// evaluated without it, which rank 0 says.
///
/// Collective: over `world`
spec::Tokenizer find_tokenizer(const Arguments& arguments,
                               const spec::Tokenizer& of_run,
                               const comm::Context& world);

/// Opens the data, tells of what may be wrong with them, and looks at their tokens: for one rank.
/// Errors: Error{deck}, also where the run has no data of its own and none are named
void check_data(const Arguments& arguments, const TrainedModel& model);

/// Every window of --data once, the rest of each source included; of the run's own data as many as its
/// validations take, so that the loss is theirs. Errors: those of check_data()
data::BatchSource evaluated_data(const Arguments& arguments, const spec::RunSpec& run);

/// The data in a few words, for people and programs: the path of --data, or `data.validation of the run:
/// 'other.txt'`.
std::string name_of_data(const Arguments& arguments, const spec::RunSpec& run);

}  // namespace ziggurat::app
