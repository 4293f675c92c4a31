#include <cuda_runtime.h>

#include "tests/emulated_cuda/calls.hpp"
#include "tests/emulated_cuda/streams.hpp"

using namespace emulated_cuda;  // these are functions of no namespace

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
    count(Counted::reserving);
    auto failure = before_call(current_device());
    if (failure.error == cudaSuccess) {
        *stream = make_stream(current_device());
    }
    return report_error(failure);
}

namespace {

constexpr int lowest_priority = 0;
constexpr int highest_priority = -5;  // as an H100

}  // namespace

cudaError_t cudaDeviceGetStreamPriorityRange(int* lowest, int* highest) {
    *lowest = lowest_priority;
    *highest = highest_priority;
    return report_error(before_call(current_device()));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
    if (priority > lowest_priority || priority < highest_priority) {
        return report_error({cudaErrorInvalidValue, "no priority of a stream"});
    }
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    count(Counted::reserving);
    if (!is_stream(stream)) {
        return report_error({cudaErrorInvalidResourceHandle, {}});
    }
    end_stream(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    count(Counted::waiting);
    if (!is_stream(stream)) {
        return report_error({cudaErrorInvalidResourceHandle, {}});
    }
    finish(stream);
    return report_error(before_call(stream->device));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    if (!is_stream(stream)) {
        return report_error({cudaErrorInvalidResourceHandle, {}});
    }
    const bool is_it = is_done(stream);
    const auto failure = before_call(stream->device);
    return report_error(failure.error != cudaSuccess || is_it ? failure : Failure{cudaErrorNotReady});
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (!is_stream(stream)) {
        return report_error({cudaErrorInvalidResourceHandle, {}});
    }
    wait_for(stream, event->milestone);
    return report_error(before_call(stream->device));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    count(Counted::reserving);
    auto failure = before_call(current_device());
    if (failure.error == cudaSuccess) {
        *event = new CUevent_st{.device = current_device()};
    }
    return report_error(failure);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    count(Counted::reserving);
    if (event == nullptr) {
        return report_error({cudaErrorInvalidResourceHandle, {}});
    }
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (auto failure = before_work(stream); failure.error != cudaSuccess) {
        return report_error(failure);
    }
    if (event->device != stream->device) {
        return report_error(
            {cudaErrorInvalidResourceHandle, "an event of one GPU is recorded on a stream of another"});
    }
    record(stream, event->milestone);
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const bool is_it = is_done(*event->milestone);
    const auto failure = before_call(event->device);
    return report_error(failure.error != cudaSuccess || is_it ? failure : Failure{cudaErrorNotReady});
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    count(Counted::waiting);
    finish(*event->milestone);
    return report_error(before_call(event->device));
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
    for (const auto* const event : {begin, end}) {
        if (!is_recorded(*event->milestone)) {
            return report_error({cudaErrorInvalidResourceHandle, "an event was never recorded"});
        }
        if (!is_done(*event->milestone)) {
            return report_error({cudaErrorNotReady});
        }
    }
    *ms =
        static_cast<float>(static_cast<double>(time_ns(*end->milestone) - time_ns(*begin->milestone)) * 1e-6);
    return report_error(before_call(begin->device));
}
