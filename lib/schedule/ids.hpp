/// Indices into the lists of a program.
#pragma once

#include "base/typed_id.hpp"
#include "layout/unit_id.hpp"

namespace ziggurat::schedule {

using layout::UnitId;
using BufferId = TypedId<struct BufferIdKind>;  ///< index into Program::buffers
using OpId = TypedId<struct OpIdKind>;          ///< index into Program::ops
using LaneId = TypedId<struct LaneIdKind>;      ///< index into Program::lanes

}  // namespace ziggurat::schedule
