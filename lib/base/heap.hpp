/// Return of freed memory to the system.
#pragma once

namespace ziggurat {

/// Returns memory that the allocator has freed but still holds to the system.
///
/// Call it after work that allocates much memory once. Otherwise the held memory grows with the first
/// repetitions of such work.
void give_back_heap() noexcept;

}  // namespace ziggurat
