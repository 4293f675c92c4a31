/// Streams and events of the emulated GPUs: what runs next, and who runs it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// A place in a stream, recorded any number of times.
struct Milestone {
    std::uint64_t recorded = 0;
    std::uint64_t reached = 0;  ///< of those recorded, the last that was come to
    std::int64_t time_ns = 0;
};

struct Piece {
    enum class Kind { work, record, wait, outside };
    Kind kind = Kind::work;
    std::function<Failure()> run = {};
    std::function<bool()> advance = {};              ///< of what waits for other processes
    std::shared_ptr<Milestone> milestone = nullptr;  ///< of a record and a wait
    std::uint64_t number = 0;                        ///< which of the times that it was recorded
    std::unique_ptr<char> given = {};  ///< its address stands for what the host did before it gave the work
};

}  // namespace emulated_cuda

struct CUstream_st {
    int device = 0;
    std::deque<emulated_cuda::Piece> pieces = {};  ///< the first one may be under way
    bool is_ending = false;
    std::thread thread = {};  ///< with Mode::threads
};

struct CUevent_st {
    int device = 0;
    std::shared_ptr<emulated_cuda::Milestone> milestone = std::make_shared<emulated_cuda::Milestone>();
};

namespace emulated_cuda {

/// What a GPU has ended with, and all calls return from then on.
Failure error_of(int device);
void set_error(int device, Failure failure);

cudaStream_t make_stream(int device);
/// Returns at once; the stream ends when its work does.
void end_stream(cudaStream_t stream);
bool is_stream(cudaStream_t stream);

void push(cudaStream_t stream, std::function<Failure()> work);
/// Work that other processes have a part in: `advance` is called again and again, until it says true.
void push_outside(cudaStream_t stream, std::function<bool()> advance);
void record(cudaStream_t stream, const std::shared_ptr<Milestone>& milestone);
void wait_for(cudaStream_t stream, const std::shared_ptr<Milestone>& milestone);

/// Whether it was come to, as it was recorded last. With Mode::late, runs some work first.
bool is_done(const Milestone& milestone);
bool is_done(cudaStream_t stream);
/// Whether it was recorded at all, and when it was come to.
bool is_recorded(const Milestone& milestone);
std::int64_t time_ns(const Milestone& milestone);

/// Return when it was come to; when a stream has done all; when all streams of a GPU have.
void finish(const Milestone& milestone);
void finish(cudaStream_t stream);
void finish_all(int device);
/// Forgets the work of a GPU's streams, and what the GPU has ended with.
void reset(int device);

}  // namespace emulated_cuda
