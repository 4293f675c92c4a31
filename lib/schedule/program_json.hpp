/// A step program as JSON, for tools.
#pragma once

#include <string>

#include "schedule/print_program.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

/// Prints the whole program as one JSON object:
///
///     {"schema": "ziggurat.program/1", "variant": "train", "rank": r, "microbatches": m,
///      "arena_bytes": {"device": n, "host": n, "nvme": n},
///      "lanes":   [{"name", "engine", "group", "direction", "serves_updates"}],
///      "groups":  [{"name", "members": [world ranks], "my_index"}],
///      "buffers": [{"name", "tier", "bytes", "lifetime", "state", "consumer", "unit", "microbatch",
///                   "first_element", "type", "shared", "offset"}],
///      "ops":     [{"kind", "lane", "direction", "purpose", "unit", "phase", "microbatch",
///                   "rows": [begin, end], "accumulate", "chunk", "group", "peer", "tag", "payload",
///                   "blocks": [[offset, bytes]],
///                   "reads" and "writes": [{"buffer", "role", "runs": [[offset, bytes]]}], "flops",
///                   "waits_for": [op], "waits_for_previous_step": [op], "label"}]}
///
/// Lanes, groups, buffers and ops are identified by their array index. -1 and "" mean that a value does not
/// exist. Keys of an op are omitted if they have the default value.
///
/// \param more  further members of the object as JSON text: `"name":value`; may be empty
void print_as_json(const Program& program, const Print& print, const std::string& more = {});

/// Returns the whole program as JSON text.
std::string program_as_json(const Program& program);

}  // namespace ziggurat::schedule
