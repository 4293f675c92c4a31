/// A step program as JSON, for tools.
#pragma once

#include <string>

#include "schedule/print_program.hpp"
#include "schedule/step_program.hpp"

namespace ziggurat::schedule {

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
///
/// \param more  further members of the object as JSON text: `"name":value`; empty: none
void print_as_json(const Program& program, const Print& print, const std::string& more = {});

/// The same as one text.
std::string program_as_json(const Program& program);

}  // namespace ziggurat::schedule
