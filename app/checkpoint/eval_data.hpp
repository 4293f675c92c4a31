/// Data of `ziggurat eval`: those of the command line, else the run's validation data.
#pragma once

#include <cstdint>
#include <string>

#include "app/checkpoint/checkpoint_options.hpp"
#include "app/checkpoint/trained_model.hpp"
#include "comm/context.hpp"
#include "data/batch_source.hpp"
#include "data/corpus.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns the tokenizer to evaluate with, the same on all ranks.
///
/// If the file of the run's tokenizer is missing, token files are evaluated without it; rank 0 prints a note.
///
/// Collective: over `world`
spec::Tokenizer find_tokenizer(const EvalOptions& options,
                               const spec::Tokenizer& of_run,
                               const comm::Context& world);

/// Returns true if --data is text that the tokenizer of `run` encodes.
bool encodes_data(const EvalOptions& options, const spec::RunSpec& run);

/// Opens the data; encodes them if encodes_data().
/// Errors: Error{deck}, also if the run has no validation data and --data is not given; Stopped
data::Corpus open_data(const EvalOptions& options, const spec::RunSpec& run, const StopCheck& stop);

/// Prints warnings about doubtful files, and checks all tokens. Called on one rank.
///
/// \param corpus  result of open_data()
/// Errors: Error{deck}
void check_data(const EvalOptions& options, const TrainedModel& model, const data::Corpus& corpus);

/// Returns the windows of `corpus` to evaluate.
///
/// From --data: every window once, including the partial last window of each source. From the run's own data:
/// the same windows as in its validations, so that the loss is equal.
data::BatchSource evaluated_data(const EvalOptions& options,
                                 const spec::RunSpec& run,
                                 const data::Corpus& corpus);

/// Returns a short description of the data.
///
/// This is the path of --data, or `data.validation of the run: 'other.txt'`.
std::string name_of_data(const EvalOptions& options, const spec::RunSpec& run);

}  // namespace ziggurat::app
