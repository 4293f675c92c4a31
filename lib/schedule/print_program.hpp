/// A step program as text for people and as JSON for tools.
#pragma once

#include <string>
#include <vector>

#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Ops by kind, bytes by purpose, control values by link, arenas and groups, in some lines.
std::string print_totals(const Program& program);

/// One line for each of `ops`, which are places in the program:
///
///     index  lane  label  reads -> writes (buffer, bytes)  waits for ops of this step; of the step before:
///     -op
std::string print_ops(const Program& program, const std::vector<int>& ops);

/// The whole program as one JSON object:
///
///     {"schema": "ziggurat.program/1", "variant": "train", "rank": r, "microbatches": m,
///      "arena_bytes": {"device": n, "host": n, "nvme": n},
///      "lanes":   [{"name", "engine", "group", "direction"}],
///      "groups":  [{"name", "members": [world ranks], "my_index"}],
///      "buffers": [{"name", "tier", "bytes", "lifetime", "state", "consumer", "unit", "microbatch",
///                   "first_element", "type", "offset"}],
///      "ops":     [{"kind", "lane", "direction", "purpose", "unit", "phase", "microbatch", "rows": [begin,
///      end],
///                   "accumulate", "chunk", "group", "peer", "tag", "payload", "blocks": [[offset, bytes]],
///                   "reads" and "writes": [{"buffer", "role", "runs": [[offset, bytes]]}], "flops",
///                   "waits_for": [op], "waits_for_previous_step": [op], "label"}]}
///
/// Lanes, groups, buffers and ops are numbered by their places; -1 and "" where there is none; keys of an op
/// whose value is the default are left out.
std::string program_as_json(const Program& program);

}  // namespace ziggurat::schedule
