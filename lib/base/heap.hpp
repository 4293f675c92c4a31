/// Freed memory of the process, given back to the system.
#pragma once

namespace ziggurat {

/// Returns to the system the memory that was freed and is kept for later. For use after work that takes much
/// memory once: otherwise the kept memory grows until such work has been done a few times.
void give_back_heap() noexcept;

}  // namespace ziggurat
