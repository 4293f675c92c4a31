/// Policy of the C library's allocator: the arenas that threads allocate from.
#pragma once

namespace ziggurat::app {

/// Chooses arenas of the heap, and turns off glibc's fast bins. Does nothing without glibc.
///
/// One arena for commands that run a model: threads that write checkpoints exist for one save each. With
/// separate arenas (up to eight per core), each arena would keep the memory of the largest save, which the
/// memory plan does not count. Training itself allocates nothing, so the threads do not contend for the heap.
/// Threads that plan do: with one arena a search takes twice as long. No fast bins: planning frees a million
/// small blocks between large ones. glibc would keep them and coalesce all of them whenever a large block is
/// freed, which takes a fifth of the time of a plan. Commands that do not run a model keep the memory that
/// they free for the next program: to clear its pages again would take a twentieth of the time.
///
/// Call before any thread starts.
void choose_heap_policy(bool runs_model) noexcept;

}  // namespace ziggurat::app
