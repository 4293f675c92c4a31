#include "comm/session/mpi_version.hpp"

#include <mpi.h>

#include <array>

namespace ziggurat::comm {

std::string mpi_headers() {
#if defined(OMPI_MAJOR_VERSION)
    return "Open MPI " + std::to_string(OMPI_MAJOR_VERSION) + "." + std::to_string(OMPI_MINOR_VERSION) + "." +
           std::to_string(OMPI_RELEASE_VERSION);
#elif defined(MVAPICH2_VERSION)
    return std::string{"MVAPICH2 "} + MVAPICH2_VERSION;
#elif defined(I_MPI_VERSION)
    return std::string{"Intel(R) MPI Library "} + I_MPI_VERSION;
#elif defined(MPICH_VERSION)
    return std::string{"MPICH "} + MPICH_VERSION;
#else
    return "MPI standard " + std::to_string(MPI_VERSION) + "." + std::to_string(MPI_SUBVERSION);
#endif
}

std::string mpi_running() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    return MPI_Get_library_version(text.data(), &length) == MPI_SUCCESS ? std::string{text.data()}
                                                                        : std::string{};
}

}  // namespace ziggurat::comm
