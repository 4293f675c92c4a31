#include "app/command_line/version.hpp"

#include <dnnl.h>
#include <mpi.h>

#include <array>
#include <string>

#include "app/build_facts.hpp"
#include "app/git_hash.hpp"

namespace ziggurat::app {
namespace {

/// Returns the MPI library's version up to the first comma: `Open MPI v4.1.4`. Does not need MPI_Init.
std::string mpi_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS) {
        return "MPI of an unknown version";
    }
    const std::string all{text.data()};
    return all.substr(0, all.find_first_of(",\n"));
}

std::string dnnl_version_text() {
    const dnnl_version_t* version = dnnl_version();
    return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
           std::to_string(version->patch);
}

}  // namespace

std::string version() {
    std::string text = build_facts::version;
    for (const char* part :
         {" (git ", git_hash, ", ", build_facts::build_type, ", march=", build_facts::march, ")"}) {
        text += part;
    }
    return text;
}

std::string library_versions() {
    auto text = mpi_version();
    text.append(", Kokkos ").append(build_facts::kokkos);
    text.append(", oneDNN ").append(dnnl_version_text());
    return text.append(", ").append(build_facts::compiler);
}

}  // namespace ziggurat::app
