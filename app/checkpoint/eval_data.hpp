/// Data of `ziggurat eval`: those of the command line, else the run's validation data.
#pragma once

#include <cstdint>
#include <string>

#include "app/checkpoint/trained_model.hpp"
#include "app/command_line/cli.hpp"
#include "comm/context.hpp"
#include "data/batch_source.hpp"
#include "spec/run_spec.hpp"

namespace ziggurat::app {

/// Returns the tokenizer to evaluate with, the same on all ranks.
///
/// If the file of the run's tokenizer is missing, token files are evaluated without it; rank 0 prints a note.
///
/// Collective: over `world`
spec::Tokenizer find_tokenizer(const Arguments& arguments,
                               const spec::Tokenizer& of_run,
                               const comm::Context& world);

/// Opens the data, prints warnings about doubtful files, and checks all tokens. Called on one rank.
/// Errors: Error{deck}, also if the run has no validation data and --data is not given
void check_data(const Arguments& arguments, const TrainedModel& model);

/// Returns the windows to evaluate.
///
/// From --data: every window once, including the partial last window of each source. From the run's own data:
/// the same windows as in its validations, so that the loss is equal. Errors: those of check_data()
data::BatchSource evaluated_data(const Arguments& arguments, const spec::RunSpec& run);

/// Returns a short description of the data.
///
/// This is the path of --data, or `data.validation of the run: 'other.txt'`.
std::string name_of_data(const Arguments& arguments, const spec::RunSpec& run);

}  // namespace ziggurat::app
