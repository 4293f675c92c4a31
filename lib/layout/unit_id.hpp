/// UnitId: index of a unit in the model's table.
#pragma once

#include "base/typed_id.hpp"

namespace ziggurat::layout {

/// 0: the embedding, then the decoder layers, then the head.
using UnitId = TypedId<struct UnitIdKind>;

}  // namespace ziggurat::layout
