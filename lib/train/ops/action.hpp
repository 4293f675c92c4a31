/// Action: the functions that the executor calls for an op.
#pragma once

#include <cstdint>
#include <functional>

namespace ziggurat::train {

/// Work of an op.
///
/// A synchronous op has `run`; it is done when the stream of its lane has completed it and `poll`, if it has
/// one, returns true. An asynchronous op has `start`, and `poll`, which is called until it returns true.
struct Action {
    std::function<void()> run = {};
    /// Called repeatedly after `run` until it returns true: then all work of the op is on its stream.
    ///
    /// Empty: it is when `run` returns.
    std::function<bool()> is_enqueued = {};
    /// Ends the work on the stream without a result, because other ranks may never take part in it.
    ///
    /// Called if a synchronous op is in flight when its executor ends with an error. Empty: the work ends
    /// without other ranks.
    std::function<void()> abort = {};
    /// Called when the op is found to be done; it must be fast.
    std::function<void()> when_done = {};
    std::function<void()> start = {};
    std::function<bool()> poll = {};
    /// Returns the bytes moved since the op was bound; empty: they are not counted.
    std::function<std::int64_t()> bytes_moved = {};
    /// Returns the bytes that were skipped because their values were known; empty: no bytes are skipped.
    std::function<std::int64_t()> skipped_bytes = {};
    /// Returns the end time of an asynchronous op, which is before `poll` returns true; empty: that time.
    std::function<std::int64_t()> ended_ns = {};
    /// Returns the time at which an asynchronous op really began; empty: when `start` was called.
    std::function<std::int64_t()> began_ns = {};
    /// Returns true if the op runs in a step, counted from 0 (schedule::Op::predicate, PipelineFill::runs).
    ///
    /// Called one time in each step, after all dependencies are met. If it is false, the op is done without
    /// being started. Empty: the op runs in all steps.
    std::function<bool(std::int64_t step)> predicate = {};
    /// Called with the number of the step, from 0, before the op runs in it; empty: steps do not differ.
    std::function<void(std::int64_t)> before_step = {};
    /// Called repeatedly after all dependencies are met, until it returns true; then the op begins at once.
    ///
    /// The time until then counts as time of the op. Empty: the op may begin.
    std::function<bool()> may_begin = {};
    /// Human-readable name of the resource that `may_begin` waits for.
    const char* hold_reason = "";
    /// Number of ops before it on its lane that may still run when it starts.
    int max_running_before = 0;
    /// Asynchronous, and computed by a thread of this rank: it does not wait for other ranks.
    bool computes_concurrently = false;

    bool is_asynchronous() const noexcept { return static_cast<bool>(start); }
};

}  // namespace ziggurat::train
