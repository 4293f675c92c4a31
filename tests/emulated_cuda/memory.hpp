/// Memory of the emulated GPUs, and memory of the host that is registered.
#pragma once

#include <cstddef>
#include <string>

#include "tests/emulated_cuda/error.hpp"

namespace emulated_cuda {

/// Whose memory an address is in.
enum class Owner { gpu, registered_host, host };

struct Owned {
    Owner owner = Owner::host;
    int device = -1;     ///< of a GPU
    bool is_all = true;  ///< whether all bytes are in one piece of it
};
Owned owner_of(const void* address, std::size_t bytes);

/// Memory of a GPU ends where a page ends that faults, and begins behind one.
Failure reserve(int device, std::size_t bytes, void** address);
Failure free(void* address);
/// All of a GPU's.
void free_all(int device);
std::size_t reserved_bytes(int device);

Failure register_host(void* address, std::size_t bytes);
Failure unregister_host(void* address);

/// Whether threads of the host may touch memory of GPUs from now on; for Mode::late.
void open_memory(bool is_open);

/// For a signal handler: what is at `address`, where memory of a GPU or what lies around it is there.
struct Touched {
    bool is_known = false;
    long long byte = 0;  ///< of the piece of memory; outside when negative, or not below `bytes`
    long long bytes = 0;
};
Touched touched(const void* address) noexcept;

}  // namespace emulated_cuda
