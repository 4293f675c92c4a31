/// Error of a failed operation on a file, with the system's reason and a remedy.
#pragma once

#include <cstdint>
#include <string>

namespace ziggurat::storage {

/// The sentence of what to do about `error_number`.
const char* remedy_of(int error_number) noexcept;

/// Throws Error{resource}: `cannot <what> '<path>' (<reason of error_number>). <what to do about it>.`
[[noreturn]] void throw_io_error(const std::string& what, const std::string& path, int error_number);

/// `write 4,096 bytes at offset 8,192 of`, for the above.
std::string describe_transfer(const char* verb, std::int64_t bytes, std::int64_t offset_bytes);

/// A way for tests to let operations fail: called before each write, reservation, flush and rename with the
/// path, and offset and bytes where there are any; what it returns is taken for the system's errno (0: go
/// on). Of this process; nothing in production sets it.
using WriteFault = int (*)(const char* path, std::int64_t offset_bytes, std::int64_t bytes);
void set_write_fault(WriteFault fault) noexcept;

/// The same before each read.
void set_read_fault(WriteFault fault) noexcept;

/// Value of the fault that was set last; 0 without one.
int planned_fault(const std::string& path, std::int64_t offset_bytes, std::int64_t bytes) noexcept;
int planned_read_fault(const std::string& path, std::int64_t offset_bytes, std::int64_t bytes) noexcept;

}  // namespace ziggurat::storage
