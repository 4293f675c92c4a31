/// Action: what the executor does for an op.
#pragma once

#include <cstdint>
#include <functional>

namespace ziggurat::train {

/// Work of an op: either `run`, which is done when the stream of its lane has come to its end, or `start`
/// followed by `poll` until it says true.
struct Action {
    std::function<void()> run = {};
    /// Called when it is seen to be done; quick.
    std::function<void()> when_done = {};
    std::function<void()> start = {};
    std::function<bool()> poll = {};
    /// Bytes moved since it was bound, counted where they move; nothing where nobody counts.
    std::function<std::int64_t()> bytes_moved = {};
    /// Bytes that it has left out since it was bound, because they were known without moving; nothing: none.
    std::function<std::int64_t()> bytes_spared = {};
    /// Time at which an asynchronous one was done, some time before that is seen; nothing: when it is seen.
    std::function<std::int64_t()> ended_ns = {};
    /// Time at which an asynchronous one was begun by who carries it out; nothing: when it was started.
    std::function<std::int64_t()> began_ns = {};
    /// Asked when no op is missing any more, again and again until it says true: then it begins at once. The
    /// time until then counts to it. Nothing: it may begin.
    std::function<bool()> may_begin = {};
    /// For people, what that waits for.
    const char* held_for = "";
    bool may_start_early = false;  ///< while the one in front of it on its lane is under way
    /// Asynchronous, and done by a thread of this rank that computes: no other rank is waited for.
    bool computes_beside = false;

    bool is_asynchronous() const noexcept { return static_cast<bool>(start); }
};

}  // namespace ziggurat::train
