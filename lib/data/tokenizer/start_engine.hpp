/// Start of Oniguruma, which whoever calls it needs.
#pragma once

namespace ziggurat::data {

/// Any thread may call it, any number of times.
/// Errors: Error{resource}
void start_engine();

}  // namespace ziggurat::data
