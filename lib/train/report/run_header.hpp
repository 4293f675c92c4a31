/// Introduction that a run prints before it trains: layout, memory, model and data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "comm/context.hpp"
#include "data/corpus.hpp"
#include "spec/run_spec.hpp"
#include "train/account/utilisation.hpp"
#include "train/console/console.hpp"
#include "train/control/time_limit.hpp"
#include "train/report/metrics.hpp"
#include "train/report/run_context.hpp"

namespace ziggurat::train {

/// Prints program, command, ranks by node, layout, model and data, with warnings and their remedies.
///
/// Also prints the notes of `context`.
///
/// \param limit  time limit of the run, on rank 0
/// Collective: over `world`; rank 0 prints
void print_run_header(const spec::RunSpec& spec,
                      const RunContext& context,
                      const data::Corpus& corpus,
                      const std::optional<TimeLimit>& limit,
                      const comm::Context& world,
                      Console& console);

/// Returns the text of env.txt: versions, host, command, peak rate, and environment variables.
///
/// It contains the environment variables that affect a run.
std::string environment_text(const std::string& version,
                             const std::string& libraries,
                             const std::string& command,
                             const Peak& peak);

/// Returns the facts of a run for the `start` event of metrics.jsonl. Collective: local; pure
RunFacts run_facts(const spec::RunSpec& spec, const std::string& version);

}  // namespace ziggurat::train
