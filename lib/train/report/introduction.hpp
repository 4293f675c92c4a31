/// Introduction of a run before it trains: layout, memory, model and data.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "comm/context.hpp"
#include "data/corpus.hpp"
#include "spec/run_spec.hpp"
#include "train/account/utilisation.hpp"
#include "train/control/time_limit.hpp"
#include "train/report/console.hpp"
#include "train/report/metrics.hpp"
#include "train/report/run_context.hpp"

namespace ziggurat::train {

/// Prints program, command, places of ranks, layout, model and data, with warnings and their remedies, and
/// the notes of `context`.
///
/// \param limit  on rank 0: when the run has to end
/// Collective: over `world`; rank 0 prints
void introduce(const spec::RunSpec& spec,
               const RunContext& context,
               const data::Corpus& corpus,
               const std::optional<TimeLimit>& limit,
               const comm::Context& world,
               Console& console);

/// The text of env.txt: versions, host, command, what the utilisation is measured against, and the
/// environment variables that change a run.
std::string environment_text(const std::string& version,
                             const std::string& libraries,
                             const std::string& command,
                             const Peak& peak);

/// Facts of a run that metrics.jsonl tells before its first step. Collective: local; pure
RunFacts run_facts(const spec::RunSpec& spec, const std::string& version);

}  // namespace ziggurat::train
