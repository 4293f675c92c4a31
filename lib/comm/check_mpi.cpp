#include "comm/check_mpi.hpp"

#include <mpi.h>

#include <array>
#include <climits>
#include <string>

#include "base/error.hpp"

namespace ziggurat::comm {

void check_mpi(int code, const char* call, std::source_location where) {
    if (code == MPI_SUCCESS) {
        return;
    }
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
        length = 0;
    }
    const std::string message_text = length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                                                : "error code " + std::to_string(code);
    throw Error{
        ErrorKind::communication,
        std::string{"MPI call '"} + call + "' failed (" + message_text +
            "). Look for the first rank that reported a problem; a job that lost a rank may be run again.",
        where};
}

int mpi_count(std::int64_t count) {
    if (count < 0 || count > INT_MAX) {
        throw Error{ErrorKind::internal, "a message of " + std::to_string(count) +
                                             " elements (MPI counts end at " + std::to_string(INT_MAX) +
                                             "). Split the call."};
    }
    return static_cast<int>(count);
}

}  // namespace ziggurat::comm
