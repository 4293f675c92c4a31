/// Streams and events of the emulated GPUs: the next piece of work, and the thread that runs it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// Event in a stream, recorded any number of times.
struct EmulatedEvent {
    std::uint64_t recorded = 0;
    std::uint64_t reached = 0;  ///< number of the last record that was reached
    std::int64_t time_ns = 0;
};

struct Piece {
    enum class Kind { work, record, wait, outside };
    Kind kind = Kind::work;
    std::function<Failure()> run = {};
    std::function<bool()> advance = {};                  ///< for work that waits for other processes
    std::shared_ptr<EmulatedEvent> milestone = nullptr;  ///< for a record and a wait
    std::uint64_t number = 0;                            ///< number of the record
    std::unique_ptr<char> given = {};                    ///< address for order() and follow() with the host
};

}  // namespace emulated_cuda

struct CUstream_st {
    int device = 0;
    std::deque<emulated_cuda::Piece> pieces = {};  ///< the first one may be running
    bool is_ending = false;
    std::thread thread = {};  ///< with Mode::threads
};

struct CUevent_st {
    int device = 0;
    std::shared_ptr<emulated_cuda::EmulatedEvent> milestone =
        std::make_shared<emulated_cuda::EmulatedEvent>();
};

namespace emulated_cuda {

/// Returns the error of a GPU, which all calls return once it is set.
Failure error_of(int device);
void set_error(int device, Failure failure);

cudaStream_t make_stream(int device);
/// Returns immediately; the stream ends when its work is done.
void end_stream(cudaStream_t stream);
bool is_stream(cudaStream_t stream);

void push(cudaStream_t stream, std::function<Failure()> work);
/// Submits work that depends on other processes: `advance` is called repeatedly until it returns true.
void push_outside(cudaStream_t stream, std::function<bool()> advance);
void record(cudaStream_t stream, const std::shared_ptr<EmulatedEvent>& milestone);
void wait_for(cudaStream_t stream, const std::shared_ptr<EmulatedEvent>& milestone);

/// Returns true if the latest record was reached. With Mode::late, first runs some work.
bool is_done(const EmulatedEvent& milestone);
bool is_done(cudaStream_t stream);
/// Returns true if it was recorded at all; time_ns() returns when it was reached.
bool is_recorded(const EmulatedEvent& milestone);
std::int64_t time_ns(const EmulatedEvent& milestone);

/// Waits until the event is reached, a stream is idle, or all streams of a GPU are idle.
void finish(const EmulatedEvent& milestone);
void finish(cudaStream_t stream);
void finish_all(int device);
/// Discards the work of a GPU's streams, and the error of the GPU.
void reset(int device);

}  // namespace emulated_cuda
