/// Memory of the emulated GPUs, and registered host memory.
#pragma once

#include <cstddef>
#include <string>

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// Owner of the memory at an address.
enum class Owner { gpu, registered_host, host };

struct Owned {
    Owner owner = Owner::host;
    int device = -1;     ///< GPU that owns it
    bool is_all = true;  ///< all bytes are in one piece of memory
};
Owned owner_of(const void* address, std::size_t bytes);

/// Reserves memory of a GPU between two guard pages; except for alignment, it ends at the second one.
Failure reserve(int device, std::size_t bytes, void** address);
Failure free(void* address);
/// Frees all memory of a GPU.
void free_all(int device);
std::size_t reserved_bytes(int device);

Failure register_host(void* address, std::size_t bytes);
Failure unregister_host(void* address);

/// Sets if host threads may access GPU memory from now on; for Mode::late.
void open_memory(bool is_open);

/// Memory of a GPU, or its guard pages, at an address; for a signal handler.
struct Touched {
    bool is_known = false;
    long long byte = 0;  ///< offset in the allocation; outside if negative or >= `bytes`
    long long bytes = 0;
};
Touched touched(const void* address) noexcept;

}  // namespace emulated_cuda
