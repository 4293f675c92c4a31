/// The memory of the process that nobody uses.
#pragma once

namespace ziggurat {

/// Gives back to the system what was freed and is kept for later. After work that takes much memory for once:
/// what a process keeps would otherwise grow until it has done such work a few times.
void give_back_heap() noexcept;

}  // namespace ziggurat
