/// Policy of the C library's allocator: the arenas that threads allocate from.
#pragma once

namespace ziggurat::app {

/// Lets all threads share one heap, and joins small pieces that are freed with their neighbours at once.
///
/// Threads that write checkpoints live for one save each. With heaps of their own, each of up to eight a core
/// keeps what the largest save has ever wanted of it, beside the plan; training itself allocates nothing, so
/// nobody waits for anybody. Planning frees a million small pieces between large ones; glibc would keep them
/// and join all of them each time a large piece is freed, which takes a fifth of the time of a plan. Where
/// the C library is not glibc, nothing is done. Before any thread.
void choose_heap_policy() noexcept;

}  // namespace ziggurat::app
